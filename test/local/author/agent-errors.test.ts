/** What the author of an agent reads on the terminal where the agent fails, and what a Slack user reads. Real processes. */
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { describe, expect, it } from "@jest/globals";
import { type Run, sekisho } from "../../e2e/processes.ts";
import { folderOfTest } from "../../tooling/cleanup.ts";

type Files = Record<string, string>;

function writeAgent(source: string, files: Files = {}): string {
  const folder = folderOfTest();
  for (const [name, text] of Object.entries({ "agent.ts": source, ...files }))
    writeFileSync(join(folder, name), text);
  return folder;
}

/** The agent in a process that has nothing but its host. */
async function runAlone(source: string, files: Files = {}) {
  const child = spawn(process.execPath, [join(import.meta.dirname, "../children/run-agent.ts")], {
    cwd: writeAgent(source, files),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
  return { stdout, stderr };
}

/** The agent in both zones. */
function start(
  source: string,
  { files = {}, env = {} }: { files?: Files; env?: Files } = {},
): Promise<Run> {
  const cwd = writeAgent(source, files);
  writeFileSync(
    join(cwd, "sekisho.config.json"),
    JSON.stringify({ execution: { agent: "./agent.ts" } }),
  );
  return sekisho({ args: ["start", "--once", "hello"], cwd, env }).exited;
}

describe("an agent that runs", () => {
  it("shows the number, the line, the problem and the code of a wrong yield", async () => {
    const source = `export async function* agent(task: { text: string }) {
  yield { type: "progress", text: task.text };

  yield { type: "anser", text: "a private text" };
}
`;
    const { code, stdout, stderr } = await start(source);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'yield 2 of agent.ts:4: `type` must be one of progress, artifact, answer, question or failure, got "anser"',
    );
    expect(stderr).toContain(
      '> 4 |   yield { type: "anser", text: "a private text" };\n    |   ^\n',
    );
    expect(stdout).not.toMatch(/anser|agent\.ts|private/);
  });

  it.each([
    ['{ type: "answer" }', "`text` must be a string, but it is missing"],
    ['{ type: "progress", percent: "5" }', '`percent` must be a number, got "5"'],
    ['"hello"', 'an update must be an object with a `type`, got "hello"'],
    [
      '{ type: "failure", reason: "bad" }',
      "must be one of execution_failed, plan_error or budget_exceeded",
    ],
    ['{ type: "answer", text: " " }', "the answer is blank, and there is no artifact"],
  ])("explains what is wrong with the yielded value %s", async (update, text) => {
    const { stderr } = await runAlone(`export async function* agent() {\n  yield ${update};\n}\n`);
    expect(stderr).toContain("yield 1 of agent.ts:2: ");
    expect(stderr).toContain(text);
  });

  it("shows the line of an exception and only the frames of the author's own files", async () => {
    const helper = 'export async function help() {\n  await null;\n  return JSON.parse("{");\n}\n';
    const source = `import { help } from "./helper.ts";
export async function* agent() {
  yield { type: "progress", text: "working" };
  yield { type: "answer", text: await help() };
}
`;
    const { stdout, stderr } = await start(source, { files: { "helper.ts": helper } });
    expect(stderr).toContain("helper.ts:3:15: SyntaxError: ");
    expect(stderr).toContain('> 3 |   return JSON.parse("{");\n    |               ^\n');
    const frames = stderr.split("\n").filter((line) => line.startsWith("    at "));
    expect(frames).toEqual(["    at help (helper.ts:3:15)", "    at agent (agent.ts:4:33)"]);
    expect(stdout).not.toContain("SyntaxError");
  });

  it("shows the cause of an exception", async () => {
    const { stderr } = await runAlone(
      'export async function agent() {\n  throw new Error("no plan", { cause: new Error("no key") });\n}\n',
    );
    expect(stderr).toContain("agent.ts:2:9: Error: no plan");
    expect(stderr).toContain("Cause: Error: no key");
  });

  it("explains both kinds of agents when an async function does not return a text", async () => {
    const { stderr } = await runAlone(
      "export async function agent() {\n  return { text: 'hello' };\n}\n",
    );
    expect(stderr).toMatch(
      /agent\.ts:1:\d+: the agent returned an object\. .*async function\*.*returns a string/,
    );
  });

  it("shows where an agent begins that ends without an answer", async () => {
    const source =
      '\nexport async function* agent() {\n  yield { type: "progress", text: "working" };\n}\n';
    expect((await runAlone(source)).stderr).toMatch(
      /agent\.ts:2:\d+: the agent ended after 1 yield without an answer/,
    );
  });

  it("shows nothing for an agent that does nothing wrong", async () => {
    const { stdout, stderr } = await runAlone(
      'export const agent = async ({ text }) => "You: " + text;\n',
    );
    expect({ ...JSON.parse(stdout), stderr }).toEqual({
      type: "success",
      text: "You: hello",
      stderr: "",
    });
  });

  it("keeps running after an uncaught error and shows the error with its line", async () => {
    const source = `import { setTimeout as sleep } from "node:timers/promises";
export async function agent() {
  setTimeout(() => {
    throw new Error("no plan");
  });
  await sleep(20);
  return "hello to you";
}
`;
    const { code, stdout, stderr } = await start(source);
    expect(code).toBe(0);
    expect(stdout).toContain("hello to you");
    expect(stderr).toMatch(/"message":"agent_error_uncaught".*"source_line":"agent\.ts:4:11"/);
    expect(stderr).toContain(
      "The agent left an error that nothing catches:\nagent.ts:4:11: Error: no plan\n",
    );
  });

  it("finishes both tasks of sekisho execution after an uncaught error of one, and shows the error", async () => {
    const cwd = writeAgent(`import { setTimeout as sleep } from "node:timers/promises";
const errorThrown = Promise.withResolvers();
export async function agent({ text }) {
  if (text === "steady") await errorThrown.promise;
  else {
    setTimeout(() => {
      throw new Error("no plan");
    });
    await sleep(20);
    errorThrown.resolve();
  }
  return text + ": done";
}
`);
    const execution = sekisho({ args: ["execution", "--agent", "./agent.ts", "--port", "0"], cwd });
    await execution.prints("Execution zone: http");
    const [, url = ""] = /Execution zone: (http:\S+)/.exec(execution.output()) ?? [];
    const send = async (text: string) => {
      const params = { channel: "C1", text };
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id: randomUUID(),
        method: "execute_task",
        params,
      });
      const headers = { "content-type": "application/json" };
      const response = await fetch(url, { method: "POST", headers, body });
      return Object(await response.json()).result?.response_text;
    };
    expect(await Promise.all(["steady", "careless"].map(send))).toEqual([
      "steady: done",
      "careless: done",
    ]);
    await execution.prints(
      "The agent left an error that nothing catches:\nagent.ts:7:13: Error: no plan\n",
    );
    expect(execution.child.exitCode).toBeNull();
    await execution.kill("SIGTERM");
  });

  it("hides the error of an agent when SEKISHO_SHOW_AGENT_ERRORS is 0", async () => {
    const source = 'export async function agent() {\n  throw new Error("secret");\n}\n';
    const { code, stderr } = await start(source, { env: { SEKISHO_SHOW_AGENT_ERRORS: "0" } });
    expect(code).toBe(1);
    expect(stderr).not.toContain("secret");
  });
});

describe("an agent file that cannot be loaded", () => {
  const begin = "export async function* agent() {\n";
  it.each([
    [
      "in TypeScript",
      `${begin}  const text: string = ;\n}\n`,
      {},
      /at agent\.ts:2:24\n.*\n.*> 2 \| {3}const text: string = ;\n.*\^/,
    ],
    [
      "in JavaScript, in a file that it imports",
      'import "./other.mjs";\n',
      { "other.mjs": "const one = 1;\nconst one = 2;\n" },
      /at other\.mjs:2:7\n.*\n.*> 2 \| const one = 2;\n.*\^/,
    ],
  ])(
    "shows a syntax error %s, with file, line, column and code",
    async (_what, source, files, text) => {
      const { stderr } = await runAlone(source, files);
      expect(stderr).toMatch(text);
    },
  );

  it("recommends a generator when an async function yields", async () => {
    const { code, stderr } = await start(
      'export async function agent() {\n  yield { type: "answer", text: "hi" };\n}\n',
    );
    expect(code).toBe(2);
    expect(stderr).toMatch(/at agent\.ts:2:3\n[\s\S]*Begin the agent with: async function\*/);
  });

  it("does not recommend a generator for another mistake in a generator", async () => {
    const { stderr } = await start(
      'export async function* agent() {\n  yield { type: "answer", text: "hi" ;\n}\n',
    );
    expect(stderr).toMatch(/at agent\.ts:2:/);
    expect(stderr).not.toContain("Begin the agent with");
  });

  it.each(['import "node:fs";\n', "export async function agent() {}\n"])(
    "recommends modules when package.json asks for CommonJS: %j",
    async (source) => {
      const { stderr } = await runAlone(source, { "package.json": '{ "type": "commonjs" }' });
      expect(stderr).toMatch(/at agent\.ts:1:1\n[\s\S]*Write "type": "module" there/);
    },
  );

  it("shows the line of a missing import", async () => {
    const { stderr } = await runAlone('const one = 1;\nimport { two } from "./two.ts";\n');
    expect(stderr).toMatch(/at agent\.ts:2:24\n/);
  });

  it("shows the line at which a file throws while it loads", async () => {
    const { stderr } = await runAlone('export const agent = 1;\nthrow new Error("no key");\n');
    expect(stderr).toMatch(/> 2 \| throw new Error\("no key"\);\n.*\^/);
  });
});
