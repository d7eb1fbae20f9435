/** `--watch` as people use it: files change while the command runs, and tasks stay. Real processes. */
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, it } from "@jest/globals";
import { freePort } from "@sekisho/local/free-port.ts";
import { writeConfig } from "../../cli/aws/a-stage.ts";
import { commandHere, refusing } from "../../cli/aws/command-here.ts";
import { type Process, sekisho } from "../../e2e/processes.ts";
import { eventually } from "../../execution/test-host.ts";
import { folderOfTest } from "../../tooling/cleanup.ts";

const running: Process[] = [];
const groups: ChildProcess[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((process) => process.kill("SIGKILL")));
  // A zone may be left where the test failed. It is in the group of the process that watched.
  for (const { pid } of groups.splice(0)) {
    try {
      if (pid !== undefined) process.kill(-pid, "SIGKILL");
    } catch {
      // Nothing is left.
    }
  }
});

function start(args: string[], cwd: string, env: Record<string, string> = {}): Process {
  const process = sekisho({ args, cwd, env });
  running.push(process);
  groups.push(process.child);
  return process;
}

const count = (text: string, part: string) => text.split(part).length - 1;

/** Resolves when the zone has started this often. */
async function starts(process: Process, times: number): Promise<void> {
  await eventually(() => count(process.output(), "Execution zone:") >= times);
}

function portOf(process: Process): number {
  return Number(/Execution zone: http:\/\/127\.0\.0\.1:(\d+)/.exec(process.output())?.[1]);
}

/** Sends a task, and resolves to its answer. The same id brings the stored answer. */
async function ask(port: number, id: string = randomUUID()): Promise<string> {
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "execute_task",
    params: { channel: "C1", text: "hello" },
  });
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
  const { result } = (await response.json()) as { result?: { response_text?: string } };
  return result?.response_text ?? "none";
}

const agent =
  'import { greeting } from "./greeting.ts";\nexport const agent = async () => greeting;\n';
const greeting = (text: string) => `export const greeting: string = "${text}";\n`;

it("watches the file of an agent by name beside a built-in one, with its path relative to the configuration", async () => {
  const cwd = folderOfTest();
  const zone = join(cwd, "zone");
  mkdirSync(zone);
  writeFileSync(join(cwd, "main.ts"), "export const agent = async () => 'main';\n");
  const config = join(zone, "sekisho.config.json");
  const ops = join(zone, "ops.ts");
  writeFileSync(config, JSON.stringify({ execution: { agents: { ops: "./ops.ts" } } }));
  writeFileSync(ops, "export const agent = async () => 'ops';\n");
  const args = ["execution", "--config", config, "--agent", "./main.ts", "--port", "0"];
  const process = start([...args, "--watch"], cwd);
  await starts(process, 1);
  expect(await ask(portOf(process))).toBe("main");
  writeFileSync(ops, "export const agent = async () => 'other';\n");
  await starts(process, 2);
  await process.kill("SIGTERM");
  const builtIn = start([...args.with(4, "echo"), "--watch"], cwd);
  await starts(builtIn, 1);
  expect(builtIn.output()).toContain("Watching ./ops.ts");
});

it("restarts the Execution zone when an imported file changes, and keeps port and tasks", async () => {
  const cwd = folderOfTest();
  writeFileSync(join(cwd, "agent.ts"), agent);
  writeFileSync(join(cwd, "greeting.ts"), greeting("one"));
  const port = await freePort();
  const process = start(
    ["execution", "--agent", "./agent.ts", "--port", String(port), "--watch"],
    cwd,
  );
  await starts(process, 1);
  const id = randomUUID();
  expect(await ask(port, id)).toBe("one");
  writeFileSync(join(cwd, "greeting.ts"), greeting("two"));
  await starts(process, 2);
  expect(process.output()).toContain("greeting.ts has changed.");
  expect(await ask(port)).toBe("two");
  expect(await ask(port, id)).toBe("one");

  writeFileSync(join(cwd, "agent.ts"), agent.replace("greeting;", 'greeting + "!";'));
  await starts(process, 3);
  expect(await ask(port)).toBe("two!");
  process.child.kill("SIGINT");
  expect((await process.exited).code).toBe(0);
  await expect(ask(port)).rejects.toThrow("fetch failed");
});

it("waits for a file that is missing or broken, and names the place", async () => {
  const cwd = folderOfTest();
  writeFileSync(join(cwd, "agent.ts"), agent);
  const process = start(["execution", "--agent", "agent.ts", "--port", "0", "--watch"], cwd);
  await process.prints("It starts again when a file changes.");
  expect(process.output()).toContain("agent.ts:1:");
  writeFileSync(join(cwd, "greeting.ts"), "export const greeting: string = ;\n");
  await process.prints("greeting.ts:1:33");
  writeFileSync(join(cwd, "greeting.ts"), greeting("mended"));
  await starts(process, 1);
  expect(await ask(portOf(process))).toBe("mended");
});

it("waits for a change after the agent ended the process, and reads .env again", async () => {
  const cwd = folderOfTest();
  const broken = "setTimeout(() => process.exit(1));";
  writeFileSync(
    join(cwd, "agent.ts"),
    `export const agent = async () => { ${broken} return "last"; };\n`,
  );
  const process = start(["execution", "--agent", "./agent.ts", "--port", "0", "--watch"], cwd);
  await starts(process, 1);
  const port = portOf(process);
  await ask(port).catch(() => "died before it answered");
  await process.prints("It ended (exit code 1).");
  writeFileSync(
    join(cwd, "agent.ts"),
    "export const agent = async () => process.env.WORD ?? 'no word';\n",
  );
  await starts(process, 2);
  expect(await ask(port)).toBe("no word");
  writeFileSync(join(cwd, ".env"), "WORD=from the file\n");
  await starts(process, 3);
  expect(await ask(port)).toBe("from the file");
});

it("ends the zone when the watching process is killed", async () => {
  const cwd = folderOfTest();
  writeFileSync(join(cwd, "agent.ts"), "export const agent = async () => 'here';\n");
  const port = await freePort();
  const process = start(
    ["execution", "--agent", "./agent.ts", "--port", String(port), "--watch"],
    cwd,
  );
  await starts(process, 1);
  expect(await ask(port)).toBe("here");
  process.child.kill("SIGKILL");
  await eventually(() =>
    ask(port).then(
      () => false,
      () => true,
    ),
  );
});

it("keeps the local page of both zones open until its browser signs out", async () => {
  const cwd = folderOfTest();
  writeFileSync(join(cwd, "agent.ts"), "export const agent = async () => 'one';\n");
  writeFileSync(
    join(cwd, "sekisho.config.json"),
    JSON.stringify({ execution: { agent: "./agent.ts" } }),
  );
  const process = start(["start", "--watch"], cwd, {
    SEKISHO_PORT: "0",
    SEKISHO_EXECUTION_PORT: "0",
  });
  const isUp = (times: number) => count(process.output(), "Ctrl-C stops everything.") >= times;
  await eventually(() => isUp(1));
  const [address = ""] = /http:\S+token=\S+/.exec(process.output()) ?? [];
  const entered = await fetch(address, { redirect: "manual" });
  const cookie = entered.headers
    .getSetCookie()
    .map((each) => each.split(";")[0])
    .join("; ");
  const page = () =>
    fetch(new URL("/", address), {
      headers: { cookie, "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
    });
  expect((await page()).status).toBe(200);
  writeFileSync(join(cwd, "agent.ts"), "export const agent = async () => 'two';\n");
  await eventually(() => isUp(2));
  expect((await page()).status).toBe(200);
  expect(count(process.output(), address)).toBe(2);
  expect((await fetch(new URL("/", address))).status).toBe(401);

  const signOut = await fetch(new URL("/operate/sign-out", address), {
    method: "POST",
    headers: { cookie, origin: new URL(address).origin, "content-type": "application/json" },
    body: "{}",
  });
  expect(signOut.status).toBe(200);
  expect((await page()).status).toBe(401);
  writeFileSync(join(cwd, "agent.ts"), "export const agent = async () => 'three';\n");
  await eventually(() => isUp(3));
  expect((await page()).status).toBe(401);
  const again = await fetch(address, { redirect: "manual" });
  expect(again.status).toBe(303);
  expect(again.headers.getSetCookie().join()).not.toContain(cookie);
});

it.each([
  [["execution", "--agent", "echo", "--watch"], "--watch needs an agent file"],
  [["start", "--watch"], "--watch needs an agent file"],
  [["start", "--watch", "--once", "hello"], "either --once or --watch"],
])("refuses the arguments %p", async (args, text) => {
  const config = writeConfig({ folder: folderOfTest(), name: "echo.json", json: {} });
  expect(await commandHere([...args, "--config", config], {})).toMatchObject(refusing(2, text));
});
