/** The bot token with which operators look up names. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { slackConnectionOf } from "@sekisho/sekisho/names/connect.ts";
import type { OpenFile } from "@sekisho/sekisho/zone/open-zone.ts";

const variable = "SEKISHO_TEST_NAMES_TOKEN";
const at = { file: "verification.db" } as OpenFile;
const config = () => parseConfig({ json: { slack: { botToken: { env: variable } } } });

afterEach(() => {
  delete process.env[variable];
});

describe("the bot token for names", () => {
  it("connects to Slack with the bot token of the configuration", async () => {
    process.env[variable] = "xoxb-1\n";
    expect(await slackConnectionOf({ at, config })()).toEqual({
      token: "xoxb-1",
      apiUrl: "https://slack.com/api/",
    });
  });

  it.each([
    ["is missing", undefined],
    ["looks like another secret, which must be sent nowhere", "a signing secret"],
  ])("refuses to connect to Slack if the bot token %s", async (_what, value) => {
    if (value !== undefined) process.env[variable] = value;
    await expect(slackConnectionOf({ at, config })()).rejects.toThrow("token");
  });
});
