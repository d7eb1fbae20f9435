/** Does what README.md and docs/tutorial/start.md say, from an empty folder to an agent in Slack. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { startSocketModeSlack } from "../doubles/socket-mode-slack.ts";
import { type Process, type Run, sekisho } from "../e2e/processes.ts";
import { blocksIn, root, sectionOf, textOf } from "./pages.ts";

const tutorial = textOf("docs/tutorial/start.md");
const anyPort = { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0" };
let folder: string;
let ends: (() => unknown)[] = [];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-tutorial-"));
  // In place of `npm install`.
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(join(root, "node_modules/@sekisho"), join(folder, "node_modules/@sekisho"));
  writeFileSync(join(folder, "package.json"), "{}");
});

afterEach(async () => {
  for (const end of ends.reverse()) await end();
  ends = [];
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The arguments of `sekisho`, also for a script of the project. */
function argsOf(command: string): string[] {
  const [, script] = /^npm (?:run )?(\w+)$/.exec(command) ?? [];
  const { scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const line = script === undefined ? command : scripts[script];
  return line.replace(/^(npx --no-install )?sekisho /, "").split(" ");
}

/** Starts a command of a document, which has to stand there. */
function start(page: string, command: string, env: Record<string, string> = {}): Process {
  expect(textOf(page)).toContain(command);
  const child = sekisho({ args: argsOf(command), cwd: folder, env });
  ends.push(() => child.kill("SIGKILL"));
  return child;
}

function run(command: string, env: Record<string, string> = {}): Promise<Run> {
  return start("docs/tutorial/start.md", command, env).exited;
}

describe("the tutorial", () => {
  it("creates a project with a valid configuration", async () => {
    expect(await run("npx --no-install sekisho init")).toMatchObject({ code: 0 });
    const check = await sekisho({ args: ["config", "check"], cwd: folder }).exited;
    expect(check).toMatchObject({ code: 0, stdout: expect.stringContaining("is valid") });
  });

  it("runs the agent of the tutorial, which asks before it answers", async () => {
    const [code = ""] = blocksIn(tutorial, "ts");
    writeFileSync(join(folder, "agent.ts"), code);
    const env = { ...anyPort, SEKISHO_EXECUTION_PORT: String(await freePort()) };
    const zones = start("docs/tutorial/start.md", "npm run dev", env);
    await zones.prints("Ctrl-C stops everything");
    const send = ["send", "Good morning, Sekisho"];
    const sendResult = await sekisho({ args: send, cwd: folder, env }).exited;
    expect(sendResult.stdout + sendResult.stderr).toContain("Shall I count the words?");
    expect(await zones.kill("SIGINT")).toMatchObject({ code: 0 });
  });

  it("connects to Slack and says how to allow the workspace", async () => {
    const manifest = await run("npx --no-install sekisho manifest --socket --open");
    expect(manifest.stderr).toContain("https://api.slack.com/apps?new_app=1");
    expect(JSON.parse(manifest.stdout).settings).toMatchObject({ socket_mode_enabled: true });
    const [appToken, botToken] = ["xapp-1-of-a-document", "xoxb-of-a-document"];
    const fakeSlack = await startFakeSlack({ signingSecret: "unused", botToken });
    ends.push(() => fakeSlack.close());
    const slack = await startSocketModeSlack({ appToken, forwardTo: fakeSlack.apiUrl });
    ends.push(() => slack.close());
    ends.push(() => rmSync(join(folder, ".env")));
    writeFileSync(
      join(folder, ".env"),
      `SLACK_APP_TOKEN=${appToken}\nSLACK_BOT_TOKEN=${botToken}\n`,
    );
    writeFileSync(
      join(folder, "sekisho.config.json"),
      JSON.stringify({ slack: { apiUrl: slack.apiUrl }, execution: { agent: "./agent.ts" } }),
    );
    const zones = start("docs/tutorial/start.md", "npm run dev", anyPort);
    await zones.prints("Connected to Slack over Socket Mode");
    expect(zones.output()).toContain("npx --no-install sekisho allow add --team");
    expect(await zones.kill("SIGINT")).toMatchObject({ code: 0 });
  });

  it("allows the workspace", async () => {
    const added = await run("npx --no-install sekisho allow add --team T012AB3CD");
    expect(added).toMatchObject({ code: 0 });
    const list = await sekisho({ args: ["allow", "list"], cwd: folder }).exited;
    expect(list.stdout).toContain("T012AB3CD");
  });
});

it("README.md shows what `npm start` prints", async () => {
  writeFileSync(join(folder, "sekisho.config.json"), "{}");
  const zones = start("README.md", "npm start", anyPort);
  await zones.prints("Ctrl-C stops everything");
  expect(await zones.kill("SIGINT")).toMatchObject({ code: 0 });
  const withoutChance = (text: string) =>
    text.replaceAll(/(?<=127\.0\.0\.1:)\d+/g, "PORT").replaceAll(/(?<=token=)[\w…-]+/g, "TOKEN");
  const [lines = ""] = blocksIn(sectionOf(textOf("README.md"), "## Try it"), "text");
  expect(withoutChance(zones.output())).toContain(withoutChance(lines));
});
