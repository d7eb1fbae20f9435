/** Streams of AG-UI that are cut, reordered or mixed with other events: no answer is lost, doubled or invented. */
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { agentSchema } from "@sekisho/config/agent-schema.ts";
import { createAgent } from "@sekisho/execution/agents/ag-ui.ts";
import { type Agent, runAgent, type TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import fc from "fast-check";
import { hello } from "../test-host.ts";
import { recordedStreams } from "./ag-ui-corpus.ts";
import {
  type AgUiServer,
  encodeEvents,
  runOf,
  type ServerEvent,
  startAgUiServer,
  textOf,
} from "./ag-ui-server.ts";
import { agentContext, agentTask } from "./agent-context.ts";

/** What the server sends: these bytes, in pieces of this size. Then it ends the response, or breaks it off. */
let planned: {
  events: readonly ServerEvent[];
  cutAt?: number;
  pieceSize?: number;
  breaksOff?: boolean;
};
let server: AgUiServer;
let agent: Agent;

beforeAll(async () => {
  server = await startAgUiServer(async (input, response) => {
    const { events, cutAt, pieceSize = Number.POSITIVE_INFINITY, breaksOff = false } = planned;
    const bytes = Buffer.from(encodeEvents(events, input)).subarray(0, cutAt);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (let at = 0; at < bytes.length; at += pieceSize)
      await new Promise((resolve) => response.write(bytes.subarray(at, at + pieceSize), resolve));
    if (breaksOff) response.destroy();
    else response.end();
    return undefined;
  });
  agent = createAgent({
    config: agentSchema.parse({ type: "ag-ui", url: server.url }),
    ...{ readSecret: async () => "", region: undefined },
    credentials: async () => ({ accessKeyId: "", secretAccessKey: "" }),
  });
});
afterAll(async () => {
  expect(server.problems).toEqual([]);
  await server.close();
});

/** A property that its time ends leaves a run behind, which must not read the next plan. */
let lastRun: Promise<unknown> = Promise.resolve();

function endOf(plan: typeof planned): Promise<TaskUpdate | undefined> {
  const run = lastRun.then(() => readEnd(plan));
  lastRun = run.catch(() => {});
  return run;
}

async function readEnd(plan: typeof planned): Promise<TaskUpdate | undefined> {
  planned = plan;
  let end: TaskUpdate | undefined;
  for await (const update of runAgent(agent, agentTask(hello), agentContext())) end = update;
  return end;
}

const lost = { type: "failure", reason: "execution_failed", lost: true };
/** Ids have a fixed length, so these bytes are as many as those that are sent. */
const sizeOf = (events: readonly ServerEvent[]) =>
  Buffer.byteLength(encodeEvents(events, { runId: "r".repeat(36), threadId: "t" }));

describe.each(recordedStreams)("$name", ({ events, answer }) => {
  const whole = { type: "answer", text: answer };

  it("gives its answer, also byte by byte", async () => {
    expect(await endOf({ events })).toMatchObject(whole);
    expect(await endOf({ events, pieceSize: 1 })).toMatchObject(whole);
  });

  it("gives no answer if it is cut before the run ends", async () => {
    // The last two bytes are the end of the line and the empty line, which add nothing.
    const size = sizeOf(events) - "\n\n".length;
    for (let cutAt = 0; cutAt < size; cutAt += 1)
      expect([cutAt, await endOf({ events, cutAt, breaksOff: cutAt % 2 === 1 })]).toEqual([
        cutAt,
        lost,
      ]);
    expect(await endOf({ events, cutAt: size })).toMatchObject(whole);
    expect(await endOf({ events, breaksOff: true })).toMatchObject(whole);
  });

  it("gives the same answer among unknown events, raw ones, nulls and other tools", async () => {
    const strangers: readonly ServerEvent[] = [
      { type: "RAW", event: { type: "RUN_FINISHED", text: "x".repeat(20_000) } },
      { type: "FUTURE_EVENT", messageId: 5, delta: {} },
      { type: "CUSTOM", name: "metrics", value: null },
      { type: "ACTIVITY_SNAPSHOT", messageId: "a", activityType: "x", content: {} },
      { type: "STATE_DELTA", delta: [{ op: "add", path: "/x/y", value: 1 }] },
      { type: "STEP_STARTED", stepName: "another", timestamp: null, rawEvent: null },
    ];
    const starts = events.findLastIndex(({ type }) => type === "RUN_STARTED") + 1;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(), fc.constantFrom(...strangers)), { maxLength: 6 }),
        async (additions) => {
          const mixed = [...events];
          for (const [place, event] of additions) {
            const isChunked = (at: number) => mixed[at]?.type === "TEXT_MESSAGE_CHUNK";
            const at = starts + (place % (mixed.length - starts));
            if (!isChunked(at)) mixed.splice(at, 0, event);
          }
          expect(await endOf({ events: mixed })).toMatchObject(whole);
        },
      ),
      { numRuns: 40 },
    );
  });

  it("gives its answer or none if two events change places", async () => {
    for (let at = 0; at + 1 < events.length; at += 1) {
      const [first, second] = events.slice(at, at + 2);
      if (first === undefined || second === undefined || areTexts(first, second)) continue;
      const swapped = [...events.slice(0, at), second, first, ...events.slice(at + 2)];
      const end = await endOf({ events: swapped });
      if (end?.type === "failure") expect(end.lost).toBe(true);
      else expect([at, end]).toEqual([at, expect.objectContaining(whole)]);
    }
  });

  it("fails if an error follows", async () => {
    const failed = [...events, { type: "RUN_ERROR", message: "hunter2" }];
    expect(await endOf({ events: failed })).toEqual({ ...lost, lost: false });
  });
});

/** Nobody can see that two pieces of one text have changed places. */
function areTexts(first: ServerEvent, second: ServerEvent): boolean {
  const isText = ({ type }: ServerEvent) => /^TEXT_MESSAGE_(CONTENT|CHUNK)$/.test(type);
  return isText(first) && isText(second);
}

it("gives the texts of any run as they were written", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 4 }), {
        maxLength: 4,
      }),
      fc.integer({ min: 1, max: 200 }),
      async (texts, pieceSize) => {
        const events = runOf(texts.flatMap((deltas, index) => textOf(`m${index}`, deltas)));
        // The double replaces these in every text.
        fc.pre(!JSON.stringify(texts).includes("$"));
        const written = texts.map((deltas) => deltas.join("")).filter((text) => text.trim() !== "");
        expect(await endOf({ events, pieceSize })).toEqual({
          type: "answer",
          text: written.join("\n\n"),
        });
      },
    ),
    { numRuns: 100 },
  );
});
