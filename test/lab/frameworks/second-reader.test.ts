/** The client of AG-UI's makers reads the same streams as our agent, and both say the same of each. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { agentSchema } from "@sekisho/config/agent-schema.ts";
import { createAgent } from "@sekisho/execution/agents/ag-ui.ts";
import { runAgent, type TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { startWebServer, type WebServer } from "../../doubles/web-server.ts";
import { recordedStreams } from "../../execution/agents/ag-ui-corpus.ts";
import {
  encodeEvents,
  runOf,
  type ServerEvent,
  textOf,
} from "../../execution/agents/ag-ui-server.ts";
import { agentContext, agentTask } from "../../execution/agents/agent-context.ts";
import { hello } from "../../execution/test-host.ts";
import type { Reading } from "./children/second-reader.ts";

type Stream = {
  name: string;
  events: readonly ServerEvent[];
  /** Why the other client fails. */
  refusal?: string;
};

const text = textOf("m1", ["A whole ", "answer"]);
const interrupts = [{ id: "i1", reason: "input_required", message: "Go on?" }];
const error = { type: "RUN_ERROR", message: "hunter2" };
const nulls = "it takes members that are null for errors, as they are in 1.0";
const refusals: Readonly<Record<string, string>> = {
  "LangGraph: raw events, steps, a tool, snapshots": nulls,
  "CrewAI: the answer in a snapshot only, after an earlier one": nulls,
};

const streams: readonly Stream[] = [
  ...recordedStreams.map(({ name, events }) => ({ name, events, refusal: refusals[name] ?? "" })),
  { name: "an unknown event", events: runOf([{ type: "FUTURE" }, ...text]) },
  { name: "a question", events: runOf(text, { outcome: { type: "interrupt", interrupts } }) },
  { name: "an error after text", events: [...runOf(text).slice(0, -1), error] },
  { name: "an error after the end", events: [...runOf(text), error] },
  { name: "a stream that ends before the run", events: runOf(text).slice(0, -1) },
  { name: "an open message at the end", events: runOf(text.slice(0, 2)) },
  { name: "content of no message", events: runOf(text.slice(1)) },
  {
    name: "a text that is a number",
    events: runOf([{ type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: 1 }]),
  },
];

let server: WebServer;
let readings: readonly Reading[];
beforeAll(async () => {
  server = await startWebServer({
    async handle({ request, target }) {
      const { events = [] } = streams[Number(target.slice(1))] ?? {};
      // Both clients send these members.
      const input = (await request.json()) as { runId: string; threadId: string };
      const headers = { "content-type": "text/event-stream" };
      return new Response(encodeEvents(events, input), { headers });
    },
  });
  const file = join(import.meta.dirname, "children/second-reader.ts");
  const urls = streams.map((_stream, index) => `${server.url}/${index}`);
  const { stdout } = await promisify(execFile)(process.execPath, [file, ...urls]);
  readings = JSON.parse(stdout);
});
afterAll(() => server.close());

async function readWithOurs(url: string): Promise<TaskUpdate | undefined> {
  const agent = createAgent({
    config: agentSchema.parse({ type: "ag-ui", url }),
    ...{ readSecret: async () => "", region: undefined },
    credentials: async () => ({ accessKeyId: "", secretAccessKey: "" }),
  });
  let end: TaskUpdate | undefined;
  for await (const update of runAgent(agent, agentTask(hello), agentContext())) end = update;
  return end;
}

it.each(streams.map((stream, index) => ({ ...stream, index })))(
  "says the same as the other client of: $name",
  async ({ index, refusal = "" }) => {
    const end = await readWithOurs(`${server.url}/${index}`);
    const reading = readings[index];
    if (refusal !== "") {
      expect([end?.type, reading?.end]).toEqual(["answer", "failure"]);
      return;
    }
    expect(end?.type).toBe(reading?.end);
    // The other client also has the texts of runs that the stream repeats.
    if (end?.type === "answer" && reading?.end === "answer")
      expect([reading.text, reading.text.split("\n\n").at(-1)]).toContain(end.text);
  },
);
