/** `sekisho conformance --agent`: what it reports of agents that speak other protocols. */
import { writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { runThreeTimes } from "@sekisho/sekisho/conformance/agent-runs.ts";
import { json, raw } from "../../doubles/answers.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { type Received, startWebServer } from "../../doubles/web-server.ts";
import {
  encodeEvents,
  type RunInput,
  runOf,
  startAgUiServer,
  textOf,
} from "../../execution/agents/ag-ui-server.ts";
import { afterTest, folderOfFile } from "../../tooling/cleanup.ts";
import { commandHere, failing } from "../aws/command-here.ts";

const folder = folderOfFile();
const config = join(folder, "sekisho.config.json");
writeFileSync(config, "{}");

const conformance = (args: string[], env: Record<string, string> = {}) =>
  commandHere(["conformance", "--config", config, ...args], env);

async function serve(answer: (call: Received) => Response) {
  const server = closeAfterTest(await startWebServer({ handle: async (call) => answer(call) }));
  return `${server.url}/agent`;
}

/** The rows of the table by their first column. */
function readTable(text: string): Record<string, string[]> {
  const rows = text.split("\n").map((line) => line.split(/ {2,}/));
  return Object.fromEntries(rows.map(([name = "", ...cells]) => [name, cells]));
}

const run = (agent: Agent, options: object = {}) =>
  runThreeTimes({
    ...{ agent, budgetMs: 60_000, signal: new AbortController().signal, log: silentLog },
    ...options,
  });

/** Answers with what a model would: the word of the message, or of the thread. */
function findWord(texts: readonly unknown[]): string {
  return /"(\w+)"/.exec(texts.map(String).join("\n"))?.[1] ?? "none";
}

const waitForever: Agent = async function* (_task, { signal }) {
  await new Promise((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
};

describe("three runs of an agent", () => {
  it("show the features that it uses", async () => {
    const agent: Agent = async function* (task, context) {
      yield { type: "progress", text: "thinking", partial: "It" };
      if (task.text.startsWith("Count")) yield* waitForever(task, context) as AsyncGenerator<never>;
      yield { type: "artifact", artifact: { name: "a.txt", mimetype: "text/plain", data: "eA==" } };
      const text = findWord((task.history ?? []).map((each) => each.text));
      yield { type: "answer", text: text.toUpperCase(), usage: { input_tokens: 1 } };
    };
    expect(await run(agent)).toEqual({
      ...{ answer: "yes", "partial answer": "yes", "progress and plan": "yes", files: "yes" },
      ...{ usage: "yes", conversation: "yes", cancel: "yes: it ended" },
    });
  });

  it.each<[string, Agent, object]>([
    [
      "an agent that only answers",
      async () => "hello",
      {
        ...{ answer: "yes", conversation: "no: it did not know the word" },
        cancel: "not tried: it had ended before",
      },
    ],
    [
      "an agent that fails",
      async function* () {
        yield { type: "failure", reason: "plan_error" };
      },
      { "clear failure": "yes: plan_error" },
    ],
    [
      "an agent whose call breaks off",
      async function* () {
        yield { type: "failure", reason: "execution_failed", lost: true };
      },
      { "clear failure": "no: nobody knows whether it ran" },
    ],
    [
      "an agent that asks",
      async function* () {
        yield { type: "question", prompt: "Which?" };
      },
      { question: "yes" },
    ],
    [
      "an agent that throws",
      () => Promise.reject(new Error("hunter2")),
      {
        "clear failure": "yes: execution_failed",
      },
    ],
  ])("report %s", async (_what, agent, seen) => {
    expect(await run(agent)).toEqual(seen);
  });

  it("report an agent that does not end when it is canceled", async () => {
    const agent: Agent = async (task) =>
      task.text.startsWith("Count") ? new Promise<string>(() => {}) : "hello";
    expect(await run(agent, { cancelMs: 10 })).toMatchObject({
      cancel: expect.stringMatching(/^no: it went on/),
    });
  });

  it("end with their time, and with their signal", async () => {
    const deaf: Agent = () => new Promise<string>(() => {});
    expect(await run(deaf, { budgetMs: 50 })).toEqual({ answer: "no: not within 0.05 s" });
    const stop = new AbortController();
    const stopped = run(deaf, { signal: stop.signal });
    stop.abort(new Error("stopped"));
    await expect(stopped).rejects.toThrow("stopped");
  });
});

describe("sekisho conformance --agent", () => {
  it("reports an agent of AG-UI by its protocol and as seen, and cancels its last run", async () => {
    const answer = (input: RunInput, response: ServerResponse) => {
      const texts = input.messages.map(({ content }) => content);
      if (!String(texts.at(-1)).startsWith("Count")) return runOf(textOf("m", [findWord(texts)]));
      const events = runOf(textOf("m", ["1"]));
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(encodeEvents(events.slice(0, 3), input));
      return undefined;
    };
    const server = await startAgUiServer(answer);
    afterTest(server.close);
    writeFileSync(
      join(folder, "far.json"),
      JSON.stringify({ execution: { agents: { far: { type: "ag-ui", url: server.url } } } }),
    );
    const { code, stdout, stderr } = await commandHere(
      ["conformance", "--config", join(folder, "far.json"), "--agent", "far"],
      {},
    );
    expect({ code, problems: server.problems }).toEqual({ code: 0, problems: [] });
    expect(stderr).toContain("Testing far: an agent of type ag-ui. It runs up to three times.");
    expect(readTable(stdout)).toMatchObject({
      answer: ["yes", "yes"],
      "partial answer": ["yes", "yes"],
      question: ["yes", "no"],
      cancel: ["yes: closes the connection", "yes: it ended"],
      conversation: ["yes: the thread is sent", "yes"],
    });
    await server.cutOff;
  });

  it("reports a plain endpoint as JSON, and what its configuration leaves out", async () => {
    const url = await serve(({ request, body }) =>
      request.method === "GET"
        ? raw("", { status: 405 })
        : json({ result: `re: ${JSON.parse(Buffer.from(body).toString()).prompt}` }),
    );
    const { code, stdout } = await conformance(["--agent", url, "--json"]);
    const { features, ...report } = JSON.parse(stdout);
    expect({ code, report }).toEqual({
      code: 0,
      report: { agent: url, kind: "a plain endpoint", kept: true },
    });
    expect(features).toContainEqual({
      feature: "conversation",
      protocol: "no: name {messages} or {session} in request",
      seen: "no: it did not know the word",
    });
    expect(features).toContainEqual({
      ...{ feature: "question", protocol: "no: set question and resume", seen: "no" },
    });
  });

  it("fails for an agent that gives no answer, and shows nothing that it wrote", async () => {
    const url = await serve(({ request }) =>
      request.method === "GET" ? raw("", { status: 405 }) : json({ error: "prompt hunter2" }),
    );
    const { code, stdout, stderr } = await conformance(["--agent", url]);
    expect(code).toBe(1);
    expect(readTable(stdout)).toMatchObject({ answer: ["yes", "no"] });
    expect(stderr).toContain("It gave no answer");
    expect(stdout + stderr).not.toContain("hunter2");
  });

  it("runs a file of one's own", async () => {
    writeFileSync(join(folder, "own.ts"), 'export const agent = async () => "hello";\n');
    const { code, stdout } = await conformance(["--agent", join(folder, "own.ts")]);
    expect(code).toBe(0);
    expect(readTable(stdout)).toMatchObject({ answer: ["as its code does", "yes"] });
  });

  it("refuses an A2A agent, an endpoint beside the agent, and what is not there", async () => {
    const card = await serve(() => json({ name: "Far", skills: [], supportedInterfaces: [] }));
    expect(await conformance(["--agent", card])).toMatchObject(failing(2, "is an A2A agent"));
    expect(await conformance(["--agent", card, card])).toMatchObject(
      failing(2, "Give either --agent, or an endpoint"),
    );
    const config = join(folder, "destination.json");
    const onlyFar = { destinations: { far: { transport: "a2a", card } } };
    writeFileSync(config, JSON.stringify({ ...onlyFar, routes: [{ destination: "far" }] }));
    expect(await conformance(["--agent", "far", "--config", config])).toMatchObject(
      failing(2, "doctor --destination far"),
    );
    expect(await conformance(["--agent", "./nowhere.ts"])).toMatchObject(
      failing(2, "is no URL, no ARN of a runtime or a harness, and no file"),
    );
  });
});
