/** What a command refuses before it does anything, with exit code 2 and words that say what to change. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { commandsInFolder } from "./commands-in-folder.ts";

const { folder, run, start } = commandsInFolder();

describe("a command", () => {
  it.each([
    ["send", "hi"],
    ["execution", "--port", "0"],
    ["start", "--once", "hi"],
  ])("exits with 2 when the agent file of the configuration cannot be used (%s)", async (...words) => {
    const config = join(folder, "agent.json");
    writeFileSync(join(folder, "empty.ts"), "export {};");
    for (const [agent, text] of [
      ["./nothing.ts", "nothing.ts does not exist"],
      ["./empty.ts", 'does not export a function "agent"'],
    ] as const) {
      const destinations = { here: { transport: "in-process" } };
      writeFileSync(config, JSON.stringify({ destinations, routes: [{ destination: "here" }], execution: { agent } }));
      const ended = await run([...words, "--config", config]);
      expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining(text) });
    }
  });

  it.each(["execution --port 0", "start", "start --once hi"])(
    "exits with 2 when a token that lets callers in is not set (%s)",
    async (words) => {
      const config = join(folder, "tokens.json");
      const authenticator = { type: "bearer", tokens: [{ env: "OLD_TOKEN" }, { env: "NEW_TOKEN" }] };
      writeFileSync(config, JSON.stringify({ routes: [], execution: { authenticator } }));
      const ended = await run([...words.split(" "), "--config", config], { OLD_TOKEN: "t" });
      expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("NEW_TOKEN is not set") });
      const short = await run([...words.split(" "), "--config", config], { OLD_TOKEN: "hunter2", NEW_TOKEN: "t" });
      expect(short).toMatchObject({ code: 2, stderr: expect.stringContaining("OLD_TOKEN is shorter than 20 char") });
      expect(short.stderr).not.toContain("hunter2");
    },
  );

  it("exits with 2 and names the variable when the token of the destination is not set", async () => {
    const config = join(folder, "token.json");
    const authorizer = { type: "bearer", token: { env: "AGENTS_TOKEN" } };
    const destinations = { far: { transport: "https", url: "https://127.0.0.1:9/", authorizer } };
    writeFileSync(config, JSON.stringify({ destinations, routes: [{ destination: "far" }] }));
    const ended = await run(["send", "hello", "--config", config]);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("AGENTS_TOKEN is not set") });
    expect((await run(["send", "hello", "--config", config], { AGENTS_TOKEN: "t" })).code).toBe(3);
  });
});

describe("sekisho verification", () => {
  const env = { SLACK_SIGNING_SECRET: "a-signing-secret-of-this-test", SLACK_BOT_TOKEN: "xoxb-a-token-of-this-test" };
  const destinations = { local: { transport: "https" }, here: { transport: "in-process" } };
  const withRoutesTo = (...names: string[]) => {
    const config = join(folder, `${names.join("-")}.json`);
    const routes = names.map((destination, index) => ({ channel: `C${index}`, destination }));
    writeFileSync(config, JSON.stringify({ destinations, routes }));
    return ["verification", "--port", "0", "--store", join(folder, "v.db"), "--config", config];
  };

  it("refuses a route to a host in its own process, where there is none", async () => {
    const ended = await run(withRoutesTo("local", "here"), env);
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('The route to "here" needs') });
  });

  it("takes such a destination that no route uses", async () => {
    const verification = start(withRoutesTo("local"), env);
    await verification.prints("Verification zone:");
    expect((await verification.kill("SIGTERM")).code).toBe(0);
  });
});
