/** The remedies of the smoke test where Slack refuses a call. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { openSlackThread } from "../../../lib/cli/smoke/slack-thread.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";

let slack: WebServer;
let error = "";
beforeAll(async () => {
  slack = await startWebServer({ handle: async () => Response.json({ ok: false, error }) });
});
afterAll(() => slack.close());

describe("a refusal by Slack", () => {
  it.each([
    ["not_in_channel", "Invite it."],
    ["missing_scope", "lacks a scope"],
    ["invalid_auth", "bot token is not valid"],
    ["is_archived", "another channel"],
    ["team_access_not_granted", "says what team_access_not_granted means"],
  ])("%s comes with its remedy", async (name, remedy) => {
    error = name;
    const signal = new AbortController().signal;
    const thread = openSlackThread({ slack: { apiUrl: `${slack.url}/` }, token: "t", channel: "C1", signal });
    const failure = await thread.team().catch((thrown: Error) => thrown.message);
    expect(failure).toContain(`(${name})`);
    expect(failure).toContain(remedy);
    expect(String(failure).includes("Invite it")).toBe(name === "not_in_channel");
  });
});
