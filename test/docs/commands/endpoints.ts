/** Commands that call an Execution endpoint: our own, the one in Python, or an A2A agent. Each is a server on this machine. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { createNoneAuthenticator } from "../../../lambdas/execution/http/exchange.ts";
import { freePort } from "../../../lib/local/free-port.ts";
import { startA2aPeer } from "../../doubles/a2a-peer.ts";
import { failure, result } from "../../doubles/answers.ts";
import type { PeerCall } from "../../doubles/execution-peer.ts";
import { minimalEndpoint } from "../../doubles/minimal-endpoint.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { hangMs } from "../../tooling/hang.ts";
import { blocksIn, textOf } from "./documented.ts";
import { onlyPart, type RunEntry } from "./entry.ts";
import { startHurriedHost } from "./hurried-host.ts";
import type { Machine } from "./machine.ts";
import { parseCommand, type ShellCommand } from "./shell-line.ts";

const token = "a-token-of-a-document";
const documentedAddress = "http://127.0.0.1:8080";
const keepsTheContract = expect.stringContaining("passes every required case");

type Execution = { env: Record<string, string>; url: string };

/** Starts `sekisho execution …` on a free port, and resolves to what commands need to find it. */
async function startExecution(
  world: Machine,
  command: ShellCommand,
  { stays = false } = {},
): Promise<Execution> {
  const port = String(await freePort());
  const execution = world.start(command, { env: { SEKISHO_EXECUTION_PORT: port }, stays });
  await execution.prints("Execution zone:");
  return { env: { SEKISHO_EXECUTION_PORT: port }, url: `http://127.0.0.1:${port}` };
}

let shared: Promise<Execution> | undefined;

/** One server for all commands that only read. */
function startedEcho(world: Machine): Promise<Execution> {
  shared ??= startExecution(world, onlyPart(parseCommand("npx --no-install sekisho execution")), {
    stays: true,
  });
  return shared;
}

/** Needs a token, and answers at once, so that no case waits for a slow task. */
async function startFar(world: Machine): Promise<string> {
  const server = await startWebServer({ handle: minimalEndpoint({ token }) });
  world.after(() => server.close());
  return `${server.url}/`;
}

async function configureFar(
  world: Machine,
): Promise<{ AGENT_TOKEN: string; AGENTS_TOKEN: string }> {
  const url = await startFar(world);
  const to = (env: string) => ({
    transport: "https",
    url,
    authorizer: { type: "bearer", token: { env } },
  });
  const destinations = {
    local: { transport: "https" },
    far: to("AGENTS_TOKEN"),
    python: to("AGENT_TOKEN"),
  };
  world.configure({ destinations, routes: [{ destination: "local" }] });
  world.after(() => world.configure({}));
  return { AGENT_TOKEN: token, AGENTS_TOKEN: token };
}

/** Answers `task_not_found`, which `doctor` asks for. */
function reportsAgent(call: PeerCall): Response {
  if (call.method !== "execute_task") return failure(call, "task_not_found");
  return result(call, { status: "success", response_text: "A report" });
}

async function configureReports(world: Machine): Promise<Record<string, string>> {
  const peer = await startA2aPeer({ script: reportsAgent, version: "1.0" });
  world.after(() => peer.close());
  const authorizer = { type: "bearer", token: { env: "REPORTS_TOKEN" } };
  const reports = { transport: "a2a", card: peer.cardUrl, authorizer };
  world.configure({
    destinations: { reports },
    routes: [{ word: "report", destination: "reports" }],
  });
  world.after(() => world.configure({}));
  return { REPORTS_TOKEN: token };
}

/** Runs another program, such as curl, in the reader's folder. */
function runProgram(
  world: Machine,
  { args, env }: ShellCommand,
  replace: Record<string, string> = {},
) {
  const [program = "", ...rest] = args.map((word) =>
    Object.entries(replace).reduce((sum, [from, to]) => sum.replaceAll(from, to), word),
  );
  const { PATH = "", HOME = "" } = process.env;
  return spawnSync(program, rest, {
    cwd: world.folder,
    env: { PATH, HOME, ...env },
    encoding: "utf8",
    timeout: hangMs,
  });
}

function routesIn(world: Machine): unknown {
  return JSON.parse(readFileSync(join(world.folder, "sekisho.config.json"), "utf8")).routes;
}

export const endpoints: RunEntry<Machine>[] = [
  ...[
    "npx --no-install sekisho execution",
    "npx --no-install sekisho execution --agent ./examples/a2a-compatibility-agent.ts",
  ].map((command) => ({
    command,
    async run({ parts, world }: { parts: ShellCommand[]; world: Machine }) {
      const { url } = await startExecution(world, onlyPart(parts));
      expect(await (await fetch(`${url}/healthz`)).text()).toBeDefined();
    },
  })),
  {
    command: "npx --no-install sekisho execution --agent ./agent.ts",
    async run({ parts, world }) {
      const [code = ""] = blocksIn(textOf("docs/how-to/agent.md"), "ts");
      writeFileSync(join(world.folder, "agent.ts"), code);
      const { env } = await startExecution(world, onlyPart(parts));
      const send = parseCommand('npx --no-install sekisho send "Good morning"');
      const said = expect.stringContaining("You wrote: Good morning");
      expect(await world.run(onlyPart(send), { env })).toMatchObject({ code: 0, stdout: said });
    },
  },
  {
    command: 'npx --no-install sekisho send "Good morning"',
    async run({ parts, world }) {
      const { env } = await startedEcho(world);
      const said = expect.stringContaining("Good morning");
      expect(await world.run(onlyPart(parts), { env })).toMatchObject({ code: 0, stdout: said });
    },
  },
  {
    command: "curl -s http://127.0.0.1:8080/.well-known/agent-card.json",
    async run({ parts, world }) {
      const { url } = await startedEcho(world);
      const { status, stdout } = runProgram(world, onlyPart(parts), { [documentedAddress]: url });
      expect({ status, card: JSON.parse(stdout) }).toMatchObject({
        status: 0,
        card: { name: expect.any(String) },
      });
    },
  },
  {
    command:
      'curl -s http://127.0.0.1:8080/ -H \'content-type: application/json\' -H \'A2A-Version: 1.0\' -d \'{ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": { "message": { "messageId": "first-1", "role": "ROLE_USER", "parts": [{ "text": "Good morning" }] } } }\'',
    async run({ parts, world }) {
      const { url } = await startedEcho(world);
      const { status, stdout } = runProgram(world, onlyPart(parts), { [documentedAddress]: url });
      expect({ status, answer: JSON.parse(stdout) }).toMatchObject({
        status: 0,
        answer: { id: 1, result: {} },
      });
    },
  },
  {
    command: "npx --no-install sekisho conformance http://127.0.0.1:8080/",
    async run({ parts, world }) {
      const url = await startHurriedHost({ world, authenticator: createNoneAuthenticator() });
      const ended = await world.run(onlyPart(parts), { replace: { [documentedAddress]: url } });
      expect(ended).toMatchObject({ code: 0, stdout: keepsTheContract });
    },
  },
  {
    command:
      "npx --no-install sekisho conformance https://agents.example.com/ --auth bearer:AGENTS_TOKEN",
    async run({ parts, world }) {
      const replace = { "https://agents.example.com/": await startFar(world) };
      const ended = await world.run(onlyPart(parts), { replace, env: { AGENTS_TOKEN: token } });
      expect(ended).toMatchObject({ code: 0, stdout: keepsTheContract });
    },
  },
  {
    command: "npx --no-install sekisho conformance --destination far",
    async run({ parts, world }) {
      const ended = await world.run(onlyPart(parts), { env: await configureFar(world) });
      expect(ended).toMatchObject({ code: 0, stdout: keepsTheContract });
    },
  },
  {
    command: "npx --no-install sekisho doctor --destination python",
    async run({ parts, world }) {
      const ended = await world.run(onlyPart(parts), { env: await configureFar(world) });
      expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("1 ok") });
    },
  },
  {
    command: 'npx --no-install sekisho send "Good morning" --destination python',
    async run({ parts, world }) {
      const ended = await world.run(onlyPart(parts), { env: await configureFar(world) });
      expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("Good morning") });
    },
  },
  {
    command: "npx --no-install sekisho destinations set python --channel C012AB3CD",
    async run({ parts, world }) {
      const env = await configureFar(world);
      expect(await world.run(onlyPart(parts), { env })).toMatchObject({ code: 0 });
      expect(routesIn(world)).toContainEqual({ channel: "C012AB3CD", destination: "python" });
    },
  },
  {
    command: "npx --no-install sekisho doctor --destination reports",
    async run({ parts, world }) {
      const ended = await world.run(onlyPart(parts), { env: await configureReports(world) });
      expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("1 ok") });
    },
  },
  {
    command: 'npx --no-install sekisho send "Yesterday, please" --destination reports',
    async run({ parts, world }) {
      const ended = await world.run(onlyPart(parts), { env: await configureReports(world) });
      expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining("A report") });
    },
  },
  {
    command: "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out card-key.pem",
    async run({ parts, world }) {
      expect(runProgram(world, onlyPart(parts))).toMatchObject({ status: 0 });
      expect(existsSync(join(world.folder, "card-key.pem"))).toBe(true);
    },
  },
  {
    command: "openssl pkey -in card-key.pem -pubout -out card-key.pub.pem",
    async run({ parts, world }) {
      expect(runProgram(world, onlyPart(parts))).toMatchObject({ status: 0 });
      expect(readFileSync(join(world.folder, "card-key.pub.pem"), "utf8")).toContain("PUBLIC KEY");
    },
  },
];
