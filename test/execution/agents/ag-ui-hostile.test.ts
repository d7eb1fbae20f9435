/** Servers of AG-UI that err or do harm: no answer is lost or invented, and no stream takes the process down. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { agentSchema } from "@sekisho/config/agent-schema.ts";
import { maxHistoryTextLength } from "@sekisho/contracts/limits.ts";
import {
  chooseStrings,
  createInputs,
  readTextAnswer,
} from "@sekisho/execution/agents/ag-ui/form.ts";
import { applyPatch } from "@sekisho/execution/agents/ag-ui/json-patch.ts";
import { readMemory } from "@sekisho/execution/agents/ag-ui/memory.ts";
import { createRunInput } from "@sekisho/execution/agents/ag-ui/request.ts";
import { createRunReader } from "@sekisho/execution/agents/ag-ui/run.ts";
import { createAgent } from "@sekisho/execution/agents/ag-ui.ts";
import { type AgentTask, runAgent, type TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { hello } from "../test-host.ts";
import {
  type AgUiServer,
  callOf,
  encodeEvents,
  runOf,
  type ServerEvent,
  startAgUiServer,
  textOf,
} from "./ag-ui-server.ts";
import { agentContext, agentTask } from "./agent-context.ts";

let server: AgUiServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** The last update of each run. A run after the first one answers the question of the one before it. */
async function endsOf(
  answer: Parameters<typeof startAgUiServer>[0],
  replies: readonly object[] = [],
): Promise<(TaskUpdate | undefined)[]> {
  server = await startAgUiServer(answer);
  const agent = createAgent({
    config: agentSchema.parse({ type: "ag-ui", url: server.url }),
    ...{ readSecret: async () => "", region: undefined },
    credentials: async () => ({ accessKeyId: "", secretAccessKey: "" }),
  });
  const ends: (TaskUpdate | undefined)[] = [];
  for (const reply of [undefined, ...replies]) {
    const question = ends.at(-1);
    const state = question?.type === "question" ? question.state : undefined;
    const answers = reply === undefined ? [] : [{ prompt: "", text: "", state, ...reply }];
    let end: TaskUpdate | undefined;
    for await (const update of runAgent(agent, agentTask({ ...hello, answers }), agentContext()))
      end = update;
    ends.push(end);
  }
  return ends;
}

async function endOf(events: readonly ServerEvent[]): Promise<TaskUpdate | undefined> {
  const [end] = await endsOf(() => events);
  return end;
}

const text = textOf("m1", ["The answer"]);
const whole = { type: "answer", text: "The answer" };

describe("a subagent of AG-UI that names itself at the beginning only", () => {
  const owner = { subagentRunId: "s" };
  const ownText = (messageId: string): ServerEvent[] => {
    const [start, ...others] = textOf(messageId, ["a draft"]);
    return [{ ...start, type: "TEXT_MESSAGE_START", ...owner }, ...others];
  };
  const chunk = (members: object): ServerEvent => ({ type: "TEXT_MESSAGE_CHUNK", ...members });

  it.each<[string, ServerEvent[]]>([
    ["texts", [...ownText("s1"), ...text]],
    [
      "texts while the main agent writes",
      [...text.slice(0, 1), ...ownText("s1"), ...text.slice(1)],
    ],
    [
      "chunks",
      [chunk({ messageId: "s1", delta: "a ", ...owner }), chunk({ delta: "draft" }), ...text],
    ],
    [
      "chunks with an id",
      [
        chunk({ messageId: "s1", delta: "a ", ...owner }),
        chunk({ messageId: "s1", delta: "draft" }),
        ...text,
      ],
    ],
    [
      "calls of tools",
      [
        ...text,
        { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "search", ...owner },
        ...callOf("c1", "search").slice(1),
        { type: "TOOL_CALL_RESULT", messageId: "t1", toolCallId: "c1", content: "42" },
      ],
    ],
    [
      "calls in its message",
      [
        ...ownText("s1"),
        ...text,
        { type: "TOOL_CALL_START", toolCallId: "c1", toolCallName: "x", parentMessageId: "s1" },
      ],
    ],
  ])("adds none of its %s to the answer", async (_title, events) => {
    expect(await endOf(runOf(events))).toEqual(whole);
  });

  it("cannot write into a message of the main agent", async () => {
    const [start, content, end] = text;
    const events = [start, { ...content, ...owner }, end] as ServerEvent[];
    expect(await endOf(runOf(events))).toMatchObject({ type: "failure", lost: true });
  });

  it("ends a call of the main agent by its result", async () => {
    const result = { type: "TOOL_CALL_RESULT", messageId: "t1", toolCallId: "c1", content: "" };
    const events = [...text, ...callOf("c1", "delegate"), { ...result, ...owner }];
    expect(await endOf(runOf(events))).toEqual(whole);
  });
});

describe("the rest of a stream after the run of AG-UI", () => {
  it.each([
    ["the mark of another protocol", "data: [DONE]\n\n"],
    ["events of no run", `data: {"type":"CUSTOM","name":"metrics"}\n\n`],
  ])("may be %s", async (_title, rest) => {
    const [end] = await endsOf(async (input, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(encodeEvents(runOf(text), input) + rest);
      return undefined;
    });
    expect(end).toEqual(whole);
  });

  it("does not hold back the answer, however long it goes on", async () => {
    let timer: NodeJS.Timeout | undefined;
    const [end] = await endsOf(async (input, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(encodeEvents(runOf(text), input));
      timer = setInterval(() => response.write('data: {"type":"RAW","event":1}\n\n'), 100);
      return undefined;
    });
    clearInterval(timer);
    expect(end).toEqual(whole);
  }, 10_000);
});

describe("a snapshot of earlier messages", () => {
  const earlier = [
    { id: "u0", role: "user", content: "before" },
    { id: "a0", role: "assistant", content: "An earlier answer" },
  ];

  it("gives no answer if the new message is not in it", async () => {
    const end = await endOf(runOf([{ type: "MESSAGES_SNAPSHOT", messages: earlier }]));
    expect(end).toEqual({ type: "answer", text: "" });
  });

  it("gives the answer after the new message, also with another id or as parts", async () => {
    const messages = [
      ...earlier,
      { id: "u1", role: "user", content: [{ type: "text", text: hello.text }] },
      { id: "a1", role: "assistant", content: "The answer" },
    ];
    expect(await endOf(runOf([{ type: "MESSAGES_SNAPSHOT", messages }]))).toEqual(whole);
  });
});

describe("a JSON Patch that would exhaust the process", () => {
  it("does not fit if it doubles a value again and again", () => {
    const patch = Array.from({ length: 24 }, (_, index) => {
      return { op: "copy", from: "", path: `/${index}` };
    });
    expect(applyPatch({ a: "x".repeat(1000) }, patch)).toBeUndefined();
  });

  it("does not fit if it makes a list longer than a question can store", () => {
    const patch = Array.from({ length: 100_000 }, () => ({ op: "add", path: "/0", value: 1 }));
    expect(applyPatch([], patch)).toBeUndefined();
  });

  it("takes only members and indices for places", () => {
    expect(applyPatch([1, 2], [{ op: "remove", path: "/length" }])).toBeUndefined();
    for (const index of ["", " 1", "01", "1e0", "-1", "3"])
      expect(applyPatch([1, 2], [{ op: "add", path: `/${index}`, value: 0 }])).toBeUndefined();
    expect(applyPatch({ a: 1 }, [{ op: "add", path: "/__proto__", value: 1 }])).toBeUndefined();
    expect(applyPatch({ a: {} }, [{ op: "copy", from: "/a", path: "/b" }])).toEqual({
      a: {},
      b: {},
    });
  });
});

describe("a JSON Patch", () => {
  const key = fc.constantFrom("a", "b", "0", "1", "-", "__proto__", "constructor");
  const pointer = fc.array(key, { maxLength: 4 }).map((keys) => keys.map((k) => `/${k}`).join(""));
  const value = fc.letrec<{ json: unknown }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 3 },
      ...[fc.integer(), fc.constant(null), fc.constant("x")],
      fc.array(tie("json"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom("a", "b", "__proto__"), tie("json"), { maxKeys: 3 }),
    ),
  })).json;
  const operation = fc.record({
    op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test"),
    ...{ path: pointer, from: pointer, value },
  });

  it("changes neither the value nor itself, and does the same as one operation after the other", () => {
    forAll(value, fc.array(operation, { maxLength: 5 })).hold((state, patch) => {
      const texts = [JSON.stringify(state), JSON.stringify(patch)];
      const whole = applyPatch(state, patch);
      expect([JSON.stringify(state), JSON.stringify(patch)]).toEqual(texts);
      let single: unknown = structuredClone(state);
      for (const each of patch) {
        single = single === undefined ? undefined : applyPatch(structuredClone(single), [each]);
      }
      if (single !== undefined) expect(JSON.stringify(whole)).toBe(JSON.stringify(single));
      expect(Object.getPrototypeOf({})).toBe(Object.prototype);
    }, 2000);
  });
});

describe("the state of a run", () => {
  const add = (path: string, value: unknown) => ({ op: "add", path, value });

  function stateAfter(...deltas: object[][]): unknown {
    const reader = createRunReader({ runId: "r", state: { list: [] } });
    reader.add({ type: "RUN_STARTED", runId: "r" });
    for (const delta of deltas) reader.add({ type: "STATE_DELTA", delta });
    reader.add({ type: "RUN_FINISHED" });
    return reader.run.state;
  }

  it("goes once many small patches have made it too large", () => {
    const deltas = Array.from({ length: 1000 }, () => [add("/list/-", "x".repeat(100))]);
    expect(stateAfter(...deltas.slice(0, 500))).toMatchObject({ list: { length: 500 } });
    expect(stateAfter(...deltas)).toBeUndefined();
    expect(stateAfter(...deltas.slice(0, 600), [{ op: "remove", path: "/list" }])).toEqual({});
  });

  it("goes once patches have nested it too deeply, or copies have made it too large", () => {
    const nested = Array.from({ length: 150 }, (_, depth) => [add("/a".repeat(depth + 1), {})]);
    expect(stateAfter(...nested.slice(0, 50))).toBeDefined();
    expect(stateAfter(...nested)).toBeUndefined();
    const copies = Array.from({ length: 40 }, (_, index) => [
      { op: "copy", from: "/list", path: `/copy${index}` },
    ]);
    expect(stateAfter([add("/list/-", "x".repeat(2000))], ...copies)).toBeUndefined();
  });
});

describe("a question of AG-UI", () => {
  const strings = chooseStrings(false);
  const ask = (schema: unknown) => ({ kind: "interrupt" as const, id: "i", prompt: "", schema });

  it("takes a text for the option with that label, and for none if several have it", () => {
    const answerTo = (labels: string[], reply: string) => {
      const each = ask({ enum: labels });
      return readTextAnswer({ ask: each, inputs: createInputs(each, strings), text: reply });
    };
    expect(answerTo(["eu", "EU"], "EU")).toEqual({ payload: "EU" });
    expect(answerTo(["eu", "EU"], "Eu")).toBeUndefined();
    const long = "x".repeat(200);
    expect(answerTo([`${long}a`, `${long}b`], long)).toBeUndefined();
  });

  it("asks once for interrupts with one id, and answers it once", async () => {
    const interrupts = [
      { id: "i1", reason: "x", message: "Colour?" },
      { id: "i1", reason: "x", message: "Size?" },
    ];
    const [question] = await endsOf(
      () =>
        server?.inputs.length === 1
          ? runOf([], { outcome: { type: "interrupt", interrupts } })
          : runOf(text),
      [{ text: "blue" }],
    );
    expect(question).toMatchObject({ prompt: "Colour?" });
    expect(server?.inputs[1]?.resume).toEqual([
      { interruptId: "i1", status: "resolved", payload: "blue" },
    ]);
  });

  it("takes a text if its schema is too large to be stored", async () => {
    const responseSchema = { type: "object", description: "x".repeat(80_000) };
    const interrupts = [{ id: "i1", reason: "x", message: "Colour?", responseSchema }];
    const end = await endOf(runOf([], { outcome: { type: "interrupt", interrupts } }));
    expect(end).toMatchObject({ type: "question", prompt: "Colour?" });
  });

  it("needs little work for a schema with thousands of members", () => {
    const names = Array.from({ length: 3000 }, (_, index) => `member${index}`);
    let lookups = 0;
    const required = new Proxy(names, {
      get(list, key, receiver) {
        lookups += 1;
        return Reflect.get(list, key, receiver);
      },
    });
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
    expect(createInputs(ask({ properties, required }), strings)).toBeUndefined();
    expect(lookups).toBeLessThan(100_000);
  });
});

describe("the ids of messages of a thread whose beginning is cut off", () => {
  const history: NonNullable<AgentTask["history"]> = Array.from({ length: 20 }, (_, index) => ({
    ...{ role: "user", text: `${index}`.padEnd(maxHistoryTextLength - 200, "x") },
    ts: `17.${index}`,
  }));
  const idsOf = (items: typeof history) => {
    const task = agentTask({ ...hello, thread_ts: "17.0", history: items });
    return createRunInput({
      ...{ task, context: agentContext(), protocolVersion: "1.0", continuation: undefined },
      memory: readMemory(undefined),
      nowMs: 0,
    }).messages.map(({ id }) => id);
  };

  it("stay the same", () => {
    const ids = idsOf(history);
    // The contract's limit of bytes leaves out the first ones.
    const laterIds = idsOf(history.slice(3)).slice(0, -1);
    expect(ids).toEqual(expect.arrayContaining(laterIds));
    expect(ids).toHaveLength(21);
  });
});
