/** `.env` of the working directory: what the local commands read from it, and who does not. Real processes. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { readsDotEnv } from "@sekisho/sekisho/dot-env.ts";
import { sekisho } from "../e2e/processes.ts";
import { folderOfTest } from "../tooling/cleanup.ts";

function folderWith(files: Record<string, string>): string {
  const folder = folderOfTest();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

/** An agent that ends the start, and tells which of these variables it sees. */
const showing = (...names: string[]) =>
  `throw new Error(JSON.stringify(${JSON.stringify(names)}.map((name) => process.env[name] ?? null)));\n`;

describe("a local command", () => {
  it("sets only unset variables from .env, and reads quotes and comments as Node does", async () => {
    const cwd = folderWith({
      ".env":
        '# of this machine\nMODEL_KEY="from the file"\nMODEL_NAME=from the file # not this\nexport HOST_NAME=x\n',
      "agent.mjs": showing("MODEL_KEY", "MODEL_NAME", "HOST_NAME", "SHELL_KEY"),
    });
    const args = ["execution", "--agent", "./agent.mjs", "--port", "0"];
    const { stderr } = await sekisho({
      args,
      cwd,
      env: { MODEL_KEY: "from the shell", SHELL_KEY: "s" },
    }).exited;
    expect(stderr).toContain('["from the shell","from the file","x","s"]');
  });

  it("reads a file with a byte order mark", async () => {
    const cwd = folderWith({
      ".env": "\uFEFFMODEL_KEY=k\nMODEL_NAME=n\n",
      "agent.mjs": showing("MODEL_KEY", "MODEL_NAME"),
    });
    const { stderr } = await sekisho({
      args: ["execution", "--agent", "./agent.mjs", "--port", "0"],
      cwd,
    }).exited;
    expect(stderr).toContain('["k","n"]');
  });

  it("hides every Slack secret in .env from the Execution zone, under any variable name", async () => {
    const cwd = folderWith({
      ".env":
        "SLACK_BOT_TOKEN=xoxb-1\nSLACK_OTHER=1\nOUR_BOT=xoxb-2\nOUR_APP=xapp-1\nMODEL_KEY=k\n",
      "agent.mjs": showing("SLACK_BOT_TOKEN", "SLACK_OTHER", "OUR_BOT", "OUR_APP", "MODEL_KEY"),
    });
    const { stderr } = await sekisho({
      args: ["execution", "--agent", "./agent.mjs", "--port", "0"],
      cwd,
    }).exited;
    expect(stderr).toContain('[null,null,null,null,"k"]');
  });

  it("reports a .env file that cannot be read", async () => {
    const cwd = folderOfTest();
    mkdirSync(join(cwd, ".env"));
    const { code, stderr } = await sekisho({ args: ["start"], cwd }).exited;
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(".env cannot be used"),
    });
  });
});

it("skips .env for a stage and for a process that restarts others", () => {
  const reads = (name: string, ...args: string[]) => readsDotEnv({ name, args });
  expect([reads("start"), reads("doctor"), reads("execution", "--agent", "a.ts")]).toEqual([
    true,
    true,
    true,
  ]);
  expect([
    reads("doctor", "--stage", "dev"),
    reads("usage", "--stage=dev"),
    reads("secrets put"),
  ]).toEqual([false, false, false]);
  expect([reads("execution", "--watch"), reads("start", "--watch")]).toEqual([false, false]);
});

describe("the real Slack", () => {
  const app = "xapp-1-A0-secret";
  const bot = "xoxb-1-secret";
  const user = "xoxp-1-secret";
  const signing = "0123456789abcdef0123456789abcdef";
  const socket = /Socket Mode needs SLACK_APP_TOKEN \(xapp-…\) and SLACK_BOT_TOKEN \(xoxb-…\)/;
  const http =
    /HTTP through a tunnel needs SLACK_SIGNING_SECRET \(32 hexadecimal digits\) and SLACK_BOT_TOKEN/;

  it.each<[string, string, Record<string, string>, RegExp[]]>([
    [
      "start",
      "only the bot token",
      { BOT_TOKEN: bot },
      [/^Neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET is set/, socket, http],
    ],
    [
      "start",
      "only the app token",
      { APP_TOKEN: app },
      [/^SLACK_BOT_TOKEN is not set/, socket, http, /to use the fake Slack/],
    ],
    [
      "verification",
      "only the signing secret",
      { SIGNING_SECRET: signing },
      [/^SLACK_BOT_TOKEN is not set/, socket, http],
    ],
    [
      "start",
      "swapped tokens",
      { APP_TOKEN: bot, BOT_TOKEN: app },
      [
        /SLACK_APP_TOKEN must be the app token \(xapp-…\), but it holds a bot token \(xoxb-…\)\. It belongs in SLACK_BOT_TOKEN/,
        /SLACK_BOT_TOKEN must be the bot token \(xoxb-…\), but it holds an app token \(xapp-…\)\. It belongs in SLACK_APP_TOKEN/,
      ],
    ],
    [
      "verification",
      "a user token",
      { APP_TOKEN: app, BOT_TOKEN: user },
      [/SLACK_BOT_TOKEN .* holds a user token \(xoxp-…\)\.$/m],
    ],
    [
      "start",
      "a token as the signing secret",
      { SIGNING_SECRET: bot, BOT_TOKEN: signing },
      [
        /SLACK_SIGNING_SECRET must be the signing secret .* It belongs in SLACK_BOT_TOKEN/,
        /It belongs in SLACK_SIGNING_SECRET/,
      ],
    ],
    [
      "start",
      "a value of no known form",
      { APP_TOKEN: app, BOT_TOKEN: '"xoxb' },
      [/SLACK_BOT_TOKEN .* has another form/],
    ],
  ])(
    "the command %s refuses %s and names the wrong or missing variables",
    async (command, _what, secrets, texts) => {
      const lines = Object.entries(secrets).map(([name, value]) => `SLACK_${name}='${value}'\n`);
      const { code, stdout, stderr } = await sekisho({
        args: [command],
        cwd: folderWith({ ".env": lines.join("") }),
      }).exited;
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      for (const text of texts) expect(stderr).toMatch(text);
      for (const value of Object.values(secrets)) expect(stderr).not.toContain(value);
    },
  );
});
