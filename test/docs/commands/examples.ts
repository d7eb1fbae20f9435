/** Commands of the examples' pages. Models and clouds are servers on this machine. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { freePort } from "../../../lib/local/free-port.ts";
import { startChatCompletions } from "../../doubles/chat-completions.ts";
import { startConverse } from "../../doubles/converse.ts";
import { root } from "./documented.ts";
import { lookAtHelp } from "./elsewhere.ts";
import { type LookEntry, onlyPart, type RunEntry } from "./entry.ts";
import type { Machine } from "./machine.ts";
import { parseCommand, type ShellCommand } from "./shell-line.ts";
import { startAgent } from "./vouched.ts";

const token = "AGENT_TOKEN=change-me-to-a-long-one";
const python = `${token} python3 examples/python-zone/zone.py`;
const conformance = (path: string) =>
  `${token} npx --no-install sekisho conformance http://127.0.0.1:8080/${path} --auth bearer:AGENT_TOKEN --idempotent --slow-text "wait 3"`;

type Given = { parts: ShellCommand[]; world: Machine };

/** Starts an agent as its page says, and sends it a message. */
async function sendTo(
  { parts, world }: Given,
  options: { env: Record<string, string>; replace?: Record<string, string> },
) {
  const port = { SEKISHO_EXECUTION_PORT: String(await freePort()) };
  const execution = world.start(onlyPart(parts), { ...options, env: { ...options.env, ...port } });
  await execution.prints("Execution zone:");
  const send = parseCommand('npx --no-install sekisho send "Good morning"');
  return world.run(onlyPart(send), { env: port });
}

const greeting = { code: 0, stdout: expect.stringContaining("Good morning, Kim.") };

export const exampleRuns: RunEntry<Machine>[] = [
  {
    command:
      "MODEL_BASE_URL=http://127.0.0.1:11434/v1 MODEL_NAME=llama3.2 npx --no-install sekisho execution --agent ./examples/llm-agent/agent.ts",
    async run(given) {
      const apiKey = "key-of-a-reader";
      const model = await startChatCompletions({
        apiKey,
        rounds: () => ({ text: ["Good morning, ", "Kim."] }),
      });
      given.world.after(model.close);
      const replace = { "http://127.0.0.1:11434/v1": model.baseUrl };
      expect(await sendTo(given, { replace, env: { MODEL_API_KEY: apiKey } })).toMatchObject(
        greeting,
      );
    },
  },
  {
    command:
      "AWS_REGION=eu-central-1 BEDROCK_MODEL_ID=eu.anthropic.claude-sonnet-4-5-20250929-v1:0 npx --no-install sekisho execution --agent ./examples/bedrock-agent/agent.ts",
    async run(given) {
      const modelId = onlyPart(given.parts).env.BEDROCK_MODEL_ID ?? "";
      const accessKeyId = "AKIDEXAMPLE";
      const model = await startConverse({
        modelId,
        accessKeyId,
        rounds: () => ({ texts: ["Good morning, Kim."] }),
      });
      given.world.after(model.close);
      const credentials = {
        AWS_ACCESS_KEY_ID: accessKeyId,
        AWS_SECRET_ACCESS_KEY: "secret-of-a-reader",
      };
      const env = { ...credentials, AWS_ENDPOINT_URL_BEDROCK_RUNTIME: model.endpoint };
      expect(await sendTo(given, { env })).toMatchObject(greeting);
    },
  },
  ...[
    python,
    `${token} node examples/express-app/server.ts`,
    `${token} node examples/hono-app/server.ts`,
  ].map((command) => ({
    command,
    async run({ parts, world }: Given) {
      const url = new URL(
        command === python ? "/" : "/agents/sekisho",
        await startHere(world, onlyPart(parts)),
      );
      expect((await fetch(url, { method: "POST", body: "{}" })).status).toBe(401);
    },
  })),
  {
    command: conformance(""),
    async run({ parts, world }) {
      const url = await startHere(world, onlyPart(parseCommand(python)));
      const ended = await world.run(onlyPart(parts), {
        replace: { "http://127.0.0.1:8080/": url },
      });
      expect(ended).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("passes every required case"),
      });
    },
  },
];

/** With the Node that runs this test, since that of the machine may be too old. */
function startHere(
  world: Machine,
  { env, args: [program = "", ...args] }: ShellCommand,
): Promise<string> {
  return startAgent(
    world,
    { env, args: [program === "node" ? process.execPath : program, ...args] },
    ".",
  );
}

function lookAtInstall([part]: ShellCommand[]): void {
  const { devDependencies, dependencies } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const [npm, install, ...names] = part?.args ?? [];
  expect([npm, install]).toEqual(["npm", "install"]);
  expect(Object.keys({ ...dependencies, ...devDependencies })).toEqual(
    expect.arrayContaining(names),
  );
}

const installs = [
  "express",
  "hono @hono/node-server",
  "@aws-sdk/client-bedrock-runtime @smithy/node-http-handler",
];

export const exampleLooks: LookEntry[] = [
  ...installs.map((names) => ({
    command: `npm install ${names}`,
    because: "it would change the packages that this test runs with",
    look: lookAtInstall,
  })),
  {
    command: `cd examples/go-zone && ${token} go run .`,
    because:
      "there may be no Go here; test/examples/endpoints.test.ts builds and runs it where there is",
    look([cd, go]) {
      expect([cd?.args[0], ...(go?.args ?? [])]).toEqual(["cd", "go", "run", "."]);
      expect(existsSync(join(root, cd?.args[1] ?? "", "go.mod"))).toBe(true);
    },
  },
  {
    command: conformance("agents/sekisho"),
    because: "test/examples/endpoints.test.ts runs the same cases against both apps",
    look: lookAtHelp,
  },
];
