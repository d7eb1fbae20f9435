/** `sekisho start` and `sekisho verification` with an app token: Slack is reached over Socket Mode only. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { workspace } from "@sekisho/local/fake-slack/workspace.ts";
import { commandsInFolder } from "../cli/commands-in-folder.ts";
import { openSocketModeSlack } from "../doubles/socket-mode-slack.ts";
import { hangMs } from "../tooling/hang.ts";

const { folder, run, start } = commandsInFolder();
const anyPort = { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0" };

let opened: Awaited<ReturnType<typeof openSocketModeSlack>>;
beforeAll(async () => {
  opened = await openSocketModeSlack();
  const config = { slack: { apiUrl: opened.slack.apiUrl, command: { name: "/sekisho" } } };
  writeFileSync(join(folder, "sekisho.config.json"), JSON.stringify(config));
});
afterAll(() => opened.close());

/** Waits for the echo agent's answer to the text, anywhere. */
async function answered(text: string): Promise<void> {
  const deadlineMs = Date.now() + hangMs;
  const posts = () =>
    opened.fakeSlack.messages().filter((message) => message.user === workspace.botUser);
  while (
    !posts().some((post) => post.text.includes("I'm the echo agent") && post.text.includes(text))
  ) {
    if (Date.now() > deadlineMs)
      throw new Error(`no answer among: ${posts().map((post) => post.text)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe("sekisho start with an app token", () => {
  it("prints how to allow people and what to type, answers over the connection, and ends cleanly", async () => {
    const process = start(["start"], { ...opened.tokens, ...anyPort });
    await process.prints("Connected to Slack over Socket Mode");
    const { team } = workspace;
    for (const text of [
      "hello",
      "/invite @",
      "/sekisho",
      `npx --no-install sekisho allow add --team ${team}`,
    ]) {
      expect(process.output()).toContain(text);
    }
    expect(process.output()).not.toContain("tunnel");
    expect((await run(["allow", "add", "--team", team])).code).toBe(0);

    const { eventsUrl } = opened.slack;
    expect(
      await opened.fakeSlack.ask({ eventsUrl, text: "over the socket" }).delivered,
    ).toMatchObject({
      status: 200,
    });
    await answered("over the socket");
    expect(
      await opened.fakeSlack.command({ eventsUrl, text: "by a command" }).delivered,
    ).toMatchObject({
      status: 200,
    });
    await answered("by a command");

    const [, port] = /http:\/\/127\.0\.0\.1:(\d+)\/slack\/events/.exec(process.output()) ?? [];
    const unsigned = await fetch(`http://127.0.0.1:${port}/slack/events`, {
      method: "POST",
      body: "{}",
    });
    expect(unsigned.status).toBe(500);

    const [address = ""] = /http:\/\/\S+\/operate\/\?token=[\w-]+/.exec(process.output()) ?? [];
    const entry = await fetch(address, { redirect: "manual" });
    const cookie = entry.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    const fetchPage = (path: string) => fetch(new URL(path, address), { headers: { cookie } });
    expect((await fetchPage("/operate/")).status).toBe(200);
    expect((await fetch(new URL("/operate/api/live", address))).status).toBe(401);
    const stream = await fetchPage("/operate/api/live");
    const { value } = (await stream.body?.getReader().read()) ?? {};
    expect(Buffer.from(value ?? []).toString()).toMatch(/"state":"done"/);

    const { code, stdout, stderr } = await process.kill("SIGTERM");
    expect(code).toBe(0);
    for (const token of Object.values(opened.tokens)) expect(stdout + stderr).not.toContain(token);
    expect(opened.slack.connections()).toBe(0);
  });
});

describe("sekisho start with an installation flow", () => {
  const config = join(folder, "install.config.json");
  const words = ["start", "--config", config];
  const install = { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } };

  it("starts an installation flow without a bot token, beside the connection", async () => {
    writeFileSync(config, JSON.stringify({ slack: { apiUrl: opened.slack.apiUrl, install } }));
    const { SLACK_APP_TOKEN } = opened.tokens;
    const process = start(words, {
      SLACK_APP_TOKEN,
      SLACK_CLIENT_SECRET: "a-client-secret",
      ...anyPort,
    });
    await process.prints("/slack/install");
    const [, port] = /http:\/\/127\.0\.0\.1:(\d+)\/slack\/events/.exec(process.output()) ?? [];
    const begun = await fetch(`http://127.0.0.1:${port}/slack/install`, { redirect: "manual" });
    expect([begun.status, begun.headers.get("location")]).toEqual([
      302,
      expect.stringContaining("client_id=12.34"),
    ]);
    // A tunnel leads to the same port, so the operators' page is not there.
    const page = await fetch(`http://127.0.0.1:${port}/operate/`);
    expect([page.status, process.output().includes("?token=")]).toEqual([404, false]);
    expect((await process.kill("SIGTERM")).code).toBe(0);
  });

  it("refuses to start an installation flow without its client secret", async () => {
    writeFileSync(config, JSON.stringify({ slack: { apiUrl: opened.slack.apiUrl, install } }));
    const result = await run(words, { ...opened.tokens, ...anyPort });
    expect(result).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("SLACK_CLIENT_SECRET is not set"),
    });
  });
});

describe("unusable tokens", () => {
  it("refuses to start with wrong tokens and explains why without printing a token", async () => {
    const rows = [
      ["start", { SLACK_BOT_TOKEN: "" }, 2, "SLACK_BOT_TOKEN is not set"],
      [
        "verification",
        { SLACK_APP_TOKEN: "xapp-1-another" },
        1,
        "refuses the app token (invalid_auth)",
      ],
      ["start", { SLACK_BOT_TOKEN: "xoxb-another" }, 1, "refuses SLACK_BOT_TOKEN (invalid_auth)"],
      ["start", { SLACK_BOT_TOKEN: "xoxb-…" }, 2, "SLACK_BOT_TOKEN is still the placeholder"],
      ["start", { SLACK_APP_TOKEN: "xapp-..." }, 2, "SLACK_APP_TOKEN is still the placeholder"],
      ["verification", { SLACK_BOT_TOKEN: "xoxb-your-token" }, 2, "is still the placeholder"],
    ] as const;
    for (const [command, change, code, words] of rows) {
      const result = await run([command], { ...opened.tokens, ...anyPort, ...change });
      expect(result).toMatchObject({ code, stderr: expect.stringContaining(words) });
      for (const token of [...Object.values(opened.tokens), "xapp-1-another", "xoxb-another"]) {
        expect(result.stdout + result.stderr).not.toContain(token);
      }
    }
  });
});
