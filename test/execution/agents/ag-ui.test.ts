/** The agent for endpoints of AG-UI, against a strict local server. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { agentSchema } from "@sekisho/config/agent-schema.ts";
import { createAgent } from "@sekisho/execution/agents/ag-ui.ts";
import {
  type Agent,
  type AgentAnswer,
  type AgentTask,
  runAgent,
  type TaskUpdate,
} from "@sekisho/execution/agents/agent.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { createTestHost, eventually, hello } from "../test-host.ts";
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
  const problems = server?.problems ?? [];
  await server?.close();
  server = undefined;
  expect(problems).toEqual([]);
});

type Answer = Parameters<typeof startAgUiServer>[0];

async function startAgent(answer: Answer, options: object = {}): Promise<Agent> {
  server = await startAgUiServer(answer);
  return createAgent({
    config: agentSchema.parse({ type: "ag-ui", url: server.url, ...options }),
    ...{ readSecret: async () => "", region: undefined },
    credentials: async () => ({ accessKeyId: "", secretAccessKey: "" }),
  });
}

async function collect(agent: Agent, task: Partial<AgentTask> = {}) {
  const { log, lines } = collectLog({ service: "execution" });
  const updates: TaskUpdate[] = [];
  const context = { ...agentContext(undefined, log), contextId: "thread-1" };
  for await (const update of runAgent(agent, agentTask({ ...hello, ...task }), context))
    updates.push(update);
  return { updates, end: updates.at(-1), logged: lines.join("") };
}

async function endOf(events: readonly ServerEvent[]) {
  return (await collect(await startAgent(() => events))).end;
}

const approval = {
  type: "object",
  properties: { approved: { type: "boolean" }, reason: { type: "string" } },
  required: ["approved"],
};

function interrupt(...interrupts: object[]): ServerEvent[] {
  return runOf([], { outcome: { type: "interrupt", interrupts } });
}

/** Asks with the first stream, and returns what the second request held after this reply. */
async function resume(events: readonly ServerEvent[], reply: Partial<AgentAnswer>) {
  const agent = await startAgent(() =>
    server?.inputs.length === 1 ? events : runOf(textOf("m2", ["Done"])),
  );
  const { end: question } = await collect(agent);
  if (question?.type !== "question") throw new Error("no question");
  const answer = { prompt: "", text: "", state: question.state, ...reply };
  const { end } = await collect(agent, { answers: [answer] });
  return { question, end, input: server?.inputs[1] };
}

describe("a run of AG-UI", () => {
  it("sends the conversation with everything that older servers demand", async () => {
    const agent = await startAgent(() => runOf(textOf("m1", ["Hel", "lo"])));
    const { updates } = await collect(agent, {
      ...{ user_id: "U1", bot_token: "hidden", context: { channel_name: "ops" } },
      history: [
        { role: "user", text: "Hi", ts: "1.1" },
        { role: "assistant", text: "Hello", ts: "1.2" },
      ],
    });
    expect(updates).toEqual([
      { type: "progress", partial: "Hel" },
      { type: "answer", text: "Hello" },
    ]);
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(server?.inputs).toEqual([
      {
        threadId: "thread-1",
        runId: id,
        messages: [
          { id, role: "user", content: "Hi" },
          { id, role: "assistant", content: "Hello" },
          { id, role: "user", content: "hello" },
        ],
        ...{ state: {}, tools: [], forwardedProps: {}, protocolVersion: "1.0" },
        context: [
          { description: "Slack user who asks", value: "U1" },
          { description: "Slack channel", value: "C1" },
          { description: "Name of the Slack channel", value: "ops" },
        ],
      },
    ]);
  });

  it("leaves out the version for servers that refuse unknown members", async () => {
    await collect(await startAgent(() => runOf([]), { protocolVersion: "none" }));
    expect(server?.inputs[0]).not.toHaveProperty("protocolVersion");
  });

  it.each([
    ["does not name its thread", false],
    ["names its thread", true],
  ])(
    "keeps the id of a message whose request %s in later runs, and gives the same text another one",
    async (_title, isNamed) => {
      const agent = await startAgent(() => runOf(textOf("m1", ["Pong"])));
      const ts = (Date.now() / 1000).toFixed(6);
      await collect(agent, { text: "ping", ...(isNamed && { thread_ts: ts }) });
      const history = [
        { role: "user" as const, text: "ping", ts },
        { role: "assistant" as const, text: "Pong", ts: "1.2" },
      ];
      await collect(agent, { text: "ping", thread_ts: ts, history });
      const laterHistory = [...history, { role: "user" as const, text: "ping", ts: "1.3" }];
      await collect(agent, { text: "ping", thread_ts: ts, history: laterHistory });
      const [first = [], second = [], third = []] =
        server?.inputs.map(({ messages }) => messages.map(({ id }) => id)) ?? [];
      expect(second.slice(0, 1)).toEqual(first);
      expect(third.slice(0, 3)).toEqual(second);
      expect(new Set(third).size).toBe(4);
    },
  );

  it("gives the same text in an old thread without a history another id", async () => {
    const agent = await startAgent(() => runOf([]));
    const { log } = collectLog({ service: "execution" });
    for (const requestId of ["request-1", "request-2"]) {
      const context = { ...agentContext(undefined, log), contextId: "thread-1", requestId };
      for await (const _ of runAgent(agent, agentTask({ ...hello, thread_ts: "1.1" }), context));
    }
    expect(server?.inputs.map(({ messages }) => messages.map(({ id }) => id))).toEqual([
      ["request-1"],
      ["request-2"],
    ]);
  });

  it("gives a message of the history no id that a message with files has", async () => {
    const agent = await startAgent(() => runOf(textOf("m1", ["ok"])));
    const parts = [{ text: "ping" }, { url: "https://files.example/a.png" }];
    await collect(agent, { text: "ping", thread_ts: "1.1", parts });
    const history = [{ role: "user" as const, text: "ping", ts: "1.1" }];
    await collect(agent, { text: "and now?", thread_ts: "1.1", history });
    const [first, second] = server?.inputs ?? [];
    expect(second?.messages[0]?.id).not.toBe(first?.messages[0]?.id);
  });

  it("sends files as parts, and to servers of no version as a text", async () => {
    const url = "https://files.example/a.png";
    const parts = [{ text: "hello" }, { url, filename: "a.png", mediaType: "image/png" }];
    await collect(await startAgent(() => runOf([])), { parts });
    expect(server?.inputs[0]?.messages[0]?.content).toEqual([
      { type: "text", text: "hello" },
      {
        type: "image",
        source: { type: "url", value: url, mimeType: "image/png" },
        metadata: { filename: "a.png" },
      },
    ]);
    await server?.close();
    await collect(await startAgent(() => runOf([]), { protocolVersion: "none" }), { parts });
    expect(server?.inputs[0]?.messages[0]?.content).toBe(`hello\na.png ${url}`);
  });
});

describe("the answer of a run of AG-UI", () => {
  it("joins the texts of the main agent with blank lines", async () => {
    const events = [
      ...textOf("m1", ["Let me ", "look…"]),
      ...callOf("c1", "search", '{"secret":"hunter2"}'),
      { type: "TOOL_CALL_RESULT", messageId: "t1", toolCallId: "c1", content: "42" },
      ...textOf("s1", ["not this"], { subagentRunId: "sub" }),
      { type: "TEXT_MESSAGE_START", messageId: "u1", role: "user" },
      { type: "TEXT_MESSAGE_CONTENT", messageId: "u1", delta: "nor this" },
      { type: "TEXT_MESSAGE_END", messageId: "u1" },
      ...textOf("m2", ["It is 42."]),
    ];
    expect(await endOf(runOf(events))).toEqual({
      type: "answer",
      text: "Let me look…\n\nIt is 42.",
    });
  });

  it("reads chunks, and appends to a message that is opened again", async () => {
    const events = [
      { type: "TEXT_MESSAGE_CHUNK", messageId: "m1", delta: "A" },
      { type: "TEXT_MESSAGE_CHUNK", delta: "B" },
      { type: "TOOL_CALL_CHUNK", toolCallId: "c1", toolCallName: "search", delta: "{" },
      { type: "TOOL_CALL_CHUNK", delta: "}" },
      { type: "TEXT_MESSAGE_CHUNK", messageId: "m2", delta: "C" },
      ...textOf("m1", ["D"]),
    ];
    expect(await endOf(runOf(events))).toEqual({ type: "answer", text: "ABD\n\nC" });
  });

  it("takes the agent's new messages of a snapshot if nothing was streamed", async () => {
    const agent = await startAgent((input) =>
      runOf([
        {
          type: "MESSAGES_SNAPSHOT",
          messages: [
            { id: "old-1", role: "user", content: "before" },
            { id: "old-2", role: "assistant", content: "an earlier answer" },
            ...input.messages,
            { id: "new-1", role: "assistant", content: null, toolCalls: [] },
            { id: "new-2", role: "assistant", content: "From the crew" },
          ],
        },
      ]),
    );
    expect((await collect(agent)).end).toEqual({ type: "answer", text: "From the crew" });
  });

  it("takes a result that is a text if there is nothing else", async () => {
    expect(await endOf(runOf([], { result: "All good" }))).toEqual({
      type: "answer",
      text: "All good",
    });
  });

  it("sums the usage of all models, and does not count what nobody reported", async () => {
    const usage = [
      { model: "a", inputTokens: 1, outputTokens: 2, reasoningTokens: 1 },
      { model: "b", inputTokens: 3, outputTokens: null },
    ];
    expect(await endOf(runOf(textOf("m1", ["ok"]), { usage, outcome: null }))).toEqual({
      ...{ type: "answer", text: "ok" },
      usage: { input_tokens: 4, output_tokens: 2, reasoning_tokens: 1 },
    });
  });

  it("shows steps, subagents and the names of tools, but no arguments", async () => {
    const agent = await startAgent(() =>
      runOf([
        { type: "STEP_STARTED", stepName: "plan" },
        ...callOf("c1", "search\u0007", "hunter2"),
        { type: "TOOL_CALL_RESULT", messageId: "t1", toolCallId: "c1", content: "hunter2" },
        { type: "STEP_FINISHED", stepName: "plan" },
        { type: "SUBAGENT_STARTED", subagentRunId: "s", name: "Reviewer" },
        { type: "SUBAGENT_ERROR", subagentRunId: "s", message: "hunter2" },
        ...textOf("m1", ["ok"]),
      ]),
    );
    const { updates } = await collect(agent);
    expect(updates).toContainEqual({ type: "progress", text: "search" });
    expect(updates.findLast((update) => "steps" in update)).toEqual({
      type: "progress",
      steps: [
        { id: "1", title: "plan", status: "completed" },
        { id: "2", title: "Reviewer", status: "failed" },
      ],
    });
    expect(JSON.stringify(updates)).not.toContain("hunter2");
  });

  it("passes on files of tools, and leaves out what no result can hold", async () => {
    const image = (value: string) => ({
      type: "image",
      source: { type: "data", value, mimeType: "image/png" },
      metadata: { filename: "a.png" },
    });
    const content = [
      { type: "text", text: "a chart" },
      image("aGk="),
      image("A".repeat(200_000)),
      image("no base64"),
      { type: "binary", mimeType: "text/csv", url: "https://files.example/a.csv" },
    ];
    const agent = await startAgent(() =>
      runOf([
        ...callOf("c1", "draw"),
        { type: "TOOL_CALL_RESULT", messageId: "t1", toolCallId: "c1", content },
        ...textOf("m1", ["Here"]),
      ]),
    );
    const { updates, logged } = await collect(agent);
    expect(updates.filter(({ type }) => type === "artifact")).toEqual([
      { type: "artifact", artifact: { name: "a.png", mimetype: "image/png", base64: "aGk=" } },
      { type: "artifact", artifact: { mimetype: "text/csv", url: "https://files.example/a.csv" } },
    ]);
    expect(logged).toContain("artifact: too_large");
  });
});

describe("a run of AG-UI that fails", () => {
  const text = textOf("m1", ["Half"]);
  const error = { type: "RUN_ERROR", message: "Traceback hunter2", code: "hunter2" };
  const start = runOf([]).slice(0, 1);

  it.each([
    ["a RUN_ERROR", [...start, ...text, error], false],
    ["a RUN_ERROR before any run", [error], false],
    ["a RUN_ERROR after the end of the run", [...runOf(text), error], false],
    ["a canceled run", runOf(text, { outcome: { type: "cancelled" } }), false],
    ["a stream without an end", [...start, ...text], true],
    [
      "a stream with another run only",
      runOf(text).map((event) => ({ ...event, runId: "other" })),
      true,
    ],
    ["a text that is still open", runOf(text.slice(0, -1)), true],
    ["a text of no message", runOf(text.slice(1)), true],
    ["an event before the run", [...text, ...runOf(text)], true],
    ["a run within a run", [...start, ...runOf(text)], true],
    ["a second end", [...runOf(text), ...runOf([]).slice(1)], true],
  ])("reports %s", async (_title, events, lost) => {
    const { end, logged } = await collect(await startAgent(() => events));
    expect(end).toEqual({ type: "failure", reason: "execution_failed", lost });
    expect(logged).not.toContain("hunter2");
  });

  it("ignores the error of a replayed run", async () => {
    const replayed = runOf(textOf("old", ["before"])).map((event) => ({ ...event, runId: "r0" }));
    expect(await endOf([...replayed, error, ...runOf(text)])).toEqual({
      type: "answer",
      text: "Half",
    });
  });

  it.each([
    [{ type: "TEXT_MESSAGE_CONTENT", messageId: "m1", delta: 5 }, "TEXT_MESSAGE_CONTENT.delta"],
    [{ type: "RUN_FINISHED", outcome: "success" }, "RUN_FINISHED.outcome"],
    [
      { type: "MESSAGES_SNAPSHOT", messages: [{ id: 1, role: "user" }] },
      "MESSAGES_SNAPSHOT.messages.0.id",
    ],
    [{ type: 7 }, "an event: type"],
  ])("names the event and the member of %j", async (event, cause) => {
    const { end, logged } = await collect(await startAgent(() => runOf([event as ServerEvent])));
    expect(end).toEqual({ type: "failure", reason: "execution_failed", lost: true });
    expect(logged).toContain(cause);
  });

  it("reads many large events, but no event above 32 MiB", async () => {
    const raw = (size: number) => ({ type: "RAW", event: "x".repeat(size) });
    const large = runOf([...Array.from({ length: 5 }, () => raw(9_000_000)), ...text]);
    expect(await endOf(large)).toEqual({ type: "answer", text: "Half" });
    await server?.close();
    expect(await endOf(runOf([raw(34_000_000), ...text]))).toMatchObject({ lost: true });
  });

  it("loses nothing if the server refuses the request", async () => {
    const agent = await startAgent(async (_input, response) => {
      response.writeHead(422).end("hunter2");
      return undefined;
    });
    expect((await collect(agent)).end).toEqual({
      type: "failure",
      reason: "execution_failed",
      lost: false,
    });
  });

  it("reports a response that is no stream as lost", async () => {
    const agent = await startAgent(async (_input, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end('{"result":"ok"}');
      return undefined;
    });
    expect((await collect(agent)).end).toMatchObject({ type: "failure", lost: true });
  });
});

describe("an interrupt of AG-UI", () => {
  it("shows two buttons if the agent wants an approval", async () => {
    const events = interrupt({
      id: "i1",
      reason: "tool_call",
      message: "Delete it?",
      responseSchema: approval,
    });
    const { question, end, input } = await resume(events, { option_id: "1" });
    expect(question).toMatchObject({
      prompt: "Delete it?",
      options: [
        { id: "0", label: "Approve" },
        { id: "1", label: "Deny" },
      ],
    });
    expect(input?.resume).toEqual([
      { interruptId: "i1", status: "resolved", payload: { approved: false } },
    ]);
    expect(end).toEqual({ type: "answer", text: "Done" });
  });

  it.each([
    ["はい", { approved: true }],
    ["deny", { approved: false }],
    ["Not today", { approved: false, reason: "Not today" }],
  ])("takes the text %s for a decision", async (text, payload) => {
    const { input } = await resume(interrupt({ id: "i1", reason: "x", responseSchema: approval }), {
      text,
    });
    expect(input?.resume?.[0]).toMatchObject({ payload });
  });

  it("offers what a schema lists", async () => {
    const responseSchema = { type: "string", enum: ["eu", "us"] };
    const events = interrupt({ id: "i1", reason: "x", message: "Where?", responseSchema });
    const { question, input } = await resume(events, { option_id: "1" });
    expect(question.options?.map(({ label }) => label)).toEqual(["eu", "us"]);
    expect(input?.resume?.[0]).toMatchObject({ payload: "us" });
  });

  it("asks again if a text is none of the choices, and sends nothing", async () => {
    const responseSchema = { enum: ["eu", "us"] };
    const { end } = await resume(interrupt({ id: "i1", reason: "x", responseSchema }), {
      text: "no",
    });
    expect(end).toMatchObject({ type: "question", options: expect.anything() });
    expect(server?.inputs).toHaveLength(1);
  });

  it("shows fields if the agent wants several values", async () => {
    const responseSchema = {
      type: "object",
      required: ["name", "size"],
      properties: {
        name: { type: "string", title: "Name" },
        size: { type: "integer", minimum: 1 },
        day: { type: "string", format: "date" },
        zones: { type: "array", items: { enum: ["a", "b"] } },
        isPublic: { type: "boolean" },
        nested: { type: "object" },
      },
    };
    const fields = { "0.0": "db", "0.1": 3, "0.3": ["1"], "0.4": "0" };
    const { question, input } = await resume(interrupt({ id: "i1", reason: "x", responseSchema }), {
      fields,
    });
    expect(question.fields?.map(({ type, label, required }) => [type, label, required])).toEqual([
      ["text", "Name", true],
      ["number", "size", true],
      ["date", "day", false],
      ["choices", "zones", false],
      ["choice", "isPublic", false],
    ]);
    const payload = { name: "db", size: 3, zones: ["b"], isPublic: true };
    expect(input?.resume?.[0]).toMatchObject({ payload });
  });

  it("takes a free text for a schema that no form can fill in", async () => {
    const responseSchema = {
      type: "object",
      required: ["plan"],
      properties: { plan: { type: "object" } },
    };
    const events = interrupt({ id: "i1", reason: "x", responseSchema });
    const { question, input } = await resume(events, { text: '{"plan":{"a":1}}' });
    expect(question).not.toHaveProperty("fields");
    expect(input?.resume?.[0]).toMatchObject({ payload: { plan: { a: 1 } } });
  });

  it("shares one form with the other interrupts of the run", async () => {
    const events = interrupt(
      { id: "i1", reason: "x", message: "Delete it?", responseSchema: approval },
      { id: "i2", reason: "x", message: "Why?" },
    );
    const { question, input } = await resume(events, { fields: { "0.0": "0", "1.0": "old" } });
    expect(question.prompt).toBe("1. Delete it?\n\n2. Why?");
    expect(input?.resume).toEqual([
      { interruptId: "i1", status: "resolved", payload: { approved: true } },
      { interruptId: "i2", status: "resolved", payload: "old" },
    ]);
  });

  it("follows one another if the person writes texts", async () => {
    const events = interrupt(
      { id: "i1", reason: "x", message: "Delete it?", responseSchema: approval },
      { id: "i2", reason: "x", message: "Why?" },
    );
    const { end } = await resume(events, { text: "yes" });
    if (end?.type !== "question") throw new Error("no second question");
    expect(end.prompt).toBe("Why?");
    const agent = createAgentFor(server);
    const answers = [{ prompt: "", text: "old", state: end.state }];
    await collect(agent, { answers });
    expect(server?.inputs[1]?.resume?.map(({ interruptId }) => interruptId)).toEqual(["i1", "i2"]);
  });

  it("resumes as canceled once it has expired", async () => {
    const events = interrupt({
      id: "i1",
      reason: "x",
      expiresAt: "2020-01-01T00:00:00Z",
      message: null,
    });
    const { input } = await resume(events, { text: "ok" });
    expect(input?.resume).toEqual([{ interruptId: "i1", status: "cancelled" }]);
  });

  it("goes on with the messages, the state and the usage of the interrupted run", async () => {
    const outcome = { type: "interrupt", interrupts: [{ id: "i1", reason: "x" }] };
    const events = runOf(
      [
        ...textOf("m1", ["I need a hint."]),
        ...callOf("c1", "ask"),
        { type: "STATE_SNAPSHOT", snapshot: { items: ["a"], step: 1 } },
        {
          type: "STATE_DELTA",
          delta: [
            { op: "add", path: "/items/-", value: "b" },
            { op: "replace", path: "/step", value: 2 },
          ],
        },
        { type: "STATE_DELTA", delta: [{ op: "remove", path: "/missing" }] },
      ],
      { outcome, usage: [{ inputTokens: 5 }] },
    );
    const { question, input } = await resume(events, { text: "blue" });
    expect(question.prompt).toContain("I need a hint.");
    expect(input).toMatchObject({
      state: { items: ["a", "b"], step: 2 },
      messages: [
        { role: "user", content: "hello" },
        { id: "m1", role: "assistant", content: "I need a hint." },
        {
          role: "assistant",
          toolCalls: [{ id: "c1", function: { name: "ask", arguments: "{}" } }],
        },
      ],
      resume: [{ interruptId: "i1", status: "resolved", payload: "blue" }],
    });
  });

  it("keeps the messages and the state of all runs of a task", async () => {
    const delta = [{ op: "add", path: "/step", value: 1 }];
    const end = { outcome: { type: "interrupt", interrupts: [{ id: "i1", reason: "x" }] } };
    const first = runOf([...textOf("m1", ["One"]), { type: "STATE_DELTA", delta }], end);
    const agent = await startAgent(() => first);
    const answers: AgentAnswer[] = [];
    for (const [messageId, path] of [
      ["m2", "/a"],
      ["m3", "/b"],
    ]) {
      const { end: question } = await collect(agent, { answers });
      if (question?.type !== "question") throw new Error("no question");
      answers.push({ prompt: "", text: "go", state: question.state });
      first.splice(1, 4, ...textOf(String(messageId), ["More"]), {
        ...{ type: "STATE_DELTA", delta: [{ op: "add", path, value: 1 }] },
      });
    }
    await collect(agent, { answers });
    expect(server?.inputs[2]).toMatchObject({ state: { step: 1, a: 1 } });
    const [ids = [], , laterIds = []] =
      server?.inputs.map(({ messages }) => messages.map(({ id }) => id)) ?? [];
    expect(laterIds).toEqual([...ids, "m1", "m2"]);
  });

  it("keeps its question after a long text, in the language of the conversation", async () => {
    const outcome = {
      type: "interrupt",
      interrupts: [{ id: "i1", reason: "x", message: "削除しますか?", responseSchema: approval }],
    };
    const end = await endOf(runOf(textOf("m1", ["x".repeat(20_000)]), { outcome }));
    if (end?.type !== "question") throw new Error("no question");
    expect(end.prompt.endsWith("x\n\n削除しますか?")).toBe(true);
    expect(end.options?.map(({ label }) => label)).toEqual(["承認する", "却下する"]);
  });

  it("leaves out messages and state that no question can hold", async () => {
    const outcome = { type: "interrupt", interrupts: [{ id: "i1", reason: "x" }] };
    const snapshot = { text: "x".repeat(50_000) };
    const messages = [{ id: "m1", role: "assistant", content: "y".repeat(50_000) }];
    const events = runOf(
      [
        { type: "STATE_SNAPSHOT", snapshot },
        { type: "MESSAGES_SNAPSHOT", messages },
      ],
      { outcome },
    );
    const { input } = await resume(events, { text: "go" });
    expect(input?.state).toEqual(snapshot);
    expect(input?.messages).toHaveLength(1);
  });

  it("leaves out what is nested too deeply to be stored", async () => {
    const deep: unknown = JSON.parse("[".repeat(2000) + "]".repeat(2000));
    const interrupts = [
      { id: "i1", reason: "x", message: "Go on?", responseSchema: { enum: deep } },
    ];
    const events = runOf(
      [
        ...callOf("c1", "search"),
        { type: "TOOL_CALL_RESULT", messageId: "t1", toolCallId: "c1", content: [deep] },
        { type: "STATE_SNAPSHOT", snapshot: deep },
      ],
      { outcome: { type: "interrupt", interrupts } },
    );
    const { question, input } = await resume(events, { text: "yes" });
    expect(question.prompt).toBe("Go on?");
    expect(input).toMatchObject({ state: {}, resume: [{ payload: "yes" }] });
    expect(input?.messages).toHaveLength(1);
  });

  it.each([
    ["a text", "Which colour?", "Which colour?"],
    ["JSON in a text", '{"question":"Which colour?"}', "Which colour?"],
    ["an object", { message: "Which colour?" }, "Which colour?"],
  ])("reads the older form as %s", async (_title, value, prompt) => {
    const events = runOf([
      { type: "CUSTOM", name: "on_interrupt", value, rawEvent: { id: "lg-1" } },
    ]);
    const { question, input } = await resume(events, { text: "blue" });
    expect(question.prompt).toBe(prompt);
    expect(input).toMatchObject({
      resume: [{ interruptId: "lg-1", status: "resolved", payload: "blue" }],
      forwardedProps: { command: { resume: "blue" } },
    });
  });

  it("asks once if it comes in both forms", async () => {
    const outcome = {
      type: "interrupt",
      interrupts: [{ id: "i1", reason: "x", message: "Colour?" }],
    };
    const { question, input } = await resume(
      runOf([{ type: "CUSTOM", name: "on_interrupt", value: "Colour?" }], { outcome }),
      { text: "blue" },
    );
    expect(question.prompt).toBe("Colour?");
    expect(input?.forwardedProps).toEqual({});
  });

  it.each([
    ["Python", "action_requests"],
    ["TypeScript", "actionRequests"],
  ])("sends a decision for each call of LangChain's approvals in %s", async (_language, name) => {
    const value = {
      [name]: [
        { name: "rm", args: {}, description: "Delete a" },
        { name: "rm", args: {} },
      ],
    };
    const { question, input } = await resume(
      runOf([{ type: "CUSTOM", name: "on_interrupt", value }]),
      { option_id: "0" },
    );
    expect(question.prompt).toBe("Delete a\n\nrm");
    expect(input?.forwardedProps).toEqual({
      command: { resume: { decisions: [{ type: "approve" }, { type: "approve" }] } },
    });
  });

  it("offers the options of LangGraph's code as buttons, and sends the chosen text", async () => {
    const value = JSON.stringify({ question: "Colour?", options: ["red", "blue"] });
    const events = runOf([{ type: "CUSTOM", name: "on_interrupt", value }]);
    const { question, input } = await resume(events, { option_id: "1" });
    expect(question).toMatchObject({ options: [{ label: "red" }, { label: "blue" }] });
    expect(input?.forwardedProps).toEqual({ command: { resume: "blue" } });
  });

  it.each([
    ["a number among the options", ["red", 1]],
    ["the same option twice", ["red", "red"]],
    ["an invisible option", ["red", "\u200b"]],
    ["an empty list of options", []],
    ["options that are no list", { 0: "red", length: 1 }],
  ])("takes any text in spite of %s", async (_title, options) => {
    const value = { question: "Colour?", options };
    const events = runOf([{ type: "CUSTOM", name: "on_interrupt", value }]);
    const { question, input } = await resume(events, { text: "green" });
    expect(question.options).toBeUndefined();
    expect(input?.forwardedProps).toEqual({ command: { resume: "green" } });
  });

  it("shows the question of a suspended tool of Mastra", async () => {
    const { question } = await resume(
      interrupt({
        ...{ id: "run::call", reason: "mastra:tool_suspend", responseSchema: approval },
        metadata: { mastra: { suspendPayload: { question: "Delete it?" }, args: { key: "k" } } },
      }),
      { option_id: "0" },
    );
    expect(question.prompt).toBe("Delete it?");
  });
});

describe("a tool call that nobody answers", () => {
  it("becomes a question whose answer is a message of the tool", async () => {
    const { question, input } = await resume(
      runOf([...textOf("m1", ["Shall I?"]), ...callOf("c1", "ask_human")]),
      { text: "go" },
    );
    expect(question.prompt).toBe("Shall I?\n\nask_human");
    expect(input?.resume).toBeUndefined();
    expect(input?.messages.at(-1)).toMatchObject({ role: "tool", toolCallId: "c1", content: "go" });
  });

  it("becomes two buttons if it is ADK's confirmation", async () => {
    const { input } = await resume(runOf(callOf("c1", "adk_request_confirmation", "{}")), {
      option_id: "0",
    });
    expect(input?.messages.at(-1)).toMatchObject({ content: '{"confirmed":true}' });
  });

  it.each([
    ["the agent wrote on", [...callOf("c1", "search"), ...textOf("m1", ["ok"])]],
    [
      "its result is in a snapshot",
      [
        ...textOf("m1", ["ok"]),
        ...callOf("c1", "search"),
        {
          type: "MESSAGES_SNAPSHOT",
          messages: [{ id: "t1", role: "tool", toolCallId: "c1", content: "" }],
        },
      ],
    ],
  ])("asks nothing if %s", async (_title, events) => {
    expect(await endOf(runOf(events))).toEqual({ type: "answer", text: "ok" });
  });
});

function createAgentFor(running: AgUiServer | undefined): Agent {
  return createAgent({
    config: agentSchema.parse({ type: "ag-ui", url: running?.url }),
    ...{ readSecret: async () => "", region: undefined },
    credentials: async () => ({ accessKeyId: "", secretAccessKey: "" }),
  });
}

describe("an agent of AG-UI behind the host", () => {
  it("asks a person, and goes on with the answer", async () => {
    const agent = await startAgent(() =>
      server?.inputs.length === 1
        ? interrupt({
            id: "i1",
            reason: "confirmation",
            message: "Delete it?",
            responseSchema: approval,
          })
        : runOf(textOf("m2", ["Deleted."])),
    );
    const { call } = createTestHost({ agent });
    const { result: question } = await call("execute_task", hello);
    expect(question).toMatchObject({ status: "input_required", prompt: "Delete it?" });
    const key = { task_id: question?.task_id };
    let { result } = await call("answer_task", { ...key, option_id: "0" });
    while (result?.status === "accepted")
      ({ result } = await call("get_task", { ...key, wait_ms: 20_000 }));
    expect(result).toMatchObject({ status: "success", response_text: "Deleted." });
    expect(server?.inputs[1]?.resume).toHaveLength(1);
  });

  it("closes the connection when the task is canceled", async () => {
    const agent = await startAgent(async (input, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(encodeEvents(runOf(textOf("m1", ["Half"])).slice(0, -1), input));
      return undefined;
    });
    const { call } = createTestHost({ agent, syncBudgetMs: 50 });
    const { result } = await call("execute_task", hello);
    await eventually(() => server?.inputs.length === 1);
    await call("cancel_task", { task_id: result?.task_id });
    await server?.cutOff;
  });

  it("answers although the server keeps the connection open after the run", async () => {
    const agent = await startAgent(async (input, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(encodeEvents(runOf(textOf("m1", ["Whole"])), input));
      return undefined;
    });
    expect((await collect(agent)).end).toEqual({ type: "answer", text: "Whole" });
    await server?.cutOff;
  });
});
