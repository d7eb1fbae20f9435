/** The agent `harness`, against a local server that speaks InvokeHarness with its checks and its binary frames. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import {
  type AgentAnswer,
  type AgentTask,
  runAgent,
  type TaskUpdate,
} from "@sekisho/execution/agents/agent.ts";
import { createAgent } from "@sekisho/execution/agents/harness.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { credentials } from "../../verification/transport/agentcore/sample.ts";
import { agentContext, agentTask } from "./agent-context.ts";
import {
  encodeMessage,
  exception,
  frame,
  metadata,
  stop,
  text,
  toolUse,
} from "./bedrock-server.ts";
import { harnessArn, startHarness, streamOf } from "./harness-server.ts";

const session = "3f0f6b0e-5a35-8b0c-9d5e-0d7d5a6f3a11";
const endpoint = "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE";

afterEach(() => {
  delete process.env[endpoint];
});

type Answer = Parameters<typeof startHarness>[0];

/** A conversation with the harness, whose messages are sent by `say`. */
async function startConversation(answer: Answer, options: object = {}) {
  const isSigned = !("authorizer" in options);
  const harness = await startHarness(answer, isSigned ? { credentials } : { token: "a-token" });
  process.env[endpoint] = harness.endpoint;
  const json = { execution: { agent: { type: "harness", harnessArn, ...options } } };
  const { agent: config } = parseConfig({ json }).execution;
  const agent = createAgent({
    ...{ config, region: undefined, credentials: async () => credentials },
    readSecret: async () => "a-token",
  });
  const { log, entries } = collectLog({ service: "execution" });
  const { conversation } = agentContext();

  async function say(task: Partial<AgentTask> = {}, contextId: string | undefined = session) {
    const updates: TaskUpdate[] = [];
    const taskId = "7d4c1a52-0b6e-8a3f-9c1d-2e5f6a7b8c9d";
    const context = { ...agentContext(undefined, log), conversation, contextId, taskId };
    const whole = agentTask({ text: "hi", user_id: "U1", team_id: "T1", ...task });
    for await (const update of runAgent(agent, whole, context)) updates.push(update);
    return updates;
  }
  const causes = () => entries().map(({ cause_kind }) => cause_kind);
  return { ...harness, say, causes, conversation };
}

const start = (role = "assistant") => frame({ event: "messageStart", payload: { role } });
const message = (reason: string, ...parts: Buffer[]) => [start(), ...parts, stop(reason)];
const hello = message("end_turn", text("Hel"), text("lo"));

/** The last update for a response, and why the answer failed. */
async function lastFor(frames: readonly Uint8Array[] | Response, task: Partial<AgentTask> = {}) {
  const { say, causes, problems } = await startConversation(() => frames);
  const last = (await say(task)).at(-1);
  expect(problems).toEqual([]);
  return { last, causes: causes() };
}

const failure = (lost: boolean) => ({ type: "failure", reason: "execution_failed", lost });
const user = (...texts: string[]) => ({
  role: "user",
  content: texts.map((each) => ({ text: each })),
});
const assistant = (...texts: string[]) => ({ ...user(...texts), role: "assistant" });

describe("the call of a harness", () => {
  it("has a signature, the message, the session of the conversation and the person", async () => {
    const { say, calls, problems } = await startConversation(() => hello);
    expect((await say()).at(-1)).toEqual({ type: "answer", text: "Hello" });
    expect(problems).toEqual([]);
    const query = `harnessArn=${encodeURIComponent(harnessArn)}`;
    expect(calls).toEqual([{ messages: [user("hi")], actorId: "c:T1:U1", session, query }]);
  });

  it("names the configured endpoint", async () => {
    const { say, calls } = await startConversation(() => hello, { qualifier: "live" });
    await say();
    expect(calls[0]?.query).toMatch(/&qualifier=live$/);
  });

  it("has a token for a harness that takes tokens", async () => {
    const authorizer = { type: "bearer", token: { env: "KEY" } };
    const { say, problems } = await startConversation(() => hello, { authorizer });
    expect((await say()).at(-1)).toEqual({ type: "answer", text: "Hello" });
    expect(problems).toEqual([]);
  });

  it.each<[string, Partial<AgentTask>, string]>([
    ["a person of a workspace", {}, "c:T1:U1"],
    ["a client that names nobody", { user_id: undefined }, "c"],
    ["a person without a workspace", { team_id: undefined }, "c:U1"],
    ["odd ids", { team_id: "T:1 é", user_id: "../U" }, "c:T-1--:---U"],
  ])("names the actor for %s", async (_who, task, actorId) => {
    const { say, calls, problems } = await startConversation(() => hello);
    await say(task);
    expect({ problems, actorId: calls[0]?.actorId }).toEqual({ problems: [], actorId });
  });

  it("names no actor if everybody shares the memory", async () => {
    const { say, calls } = await startConversation(() => hello, { actor: "none" });
    await say();
    expect(calls[0]).toEqual(expect.not.objectContaining({ actorId: expect.anything() }));
  });

  it("fails without a call for a message without a text", async () => {
    const { say, calls } = await startConversation(() => hello);
    expect(await say({ text: " " })).toEqual([{ type: "failure", reason: "plan_error" }]);
    expect(calls).toEqual([]);
  });
});

describe("the conversation with a harness", () => {
  const history = [
    { role: "assistant" as const, text: "Morning" },
    { role: "user" as const, text: "first" },
  ];
  const whole = [
    user("(The conversation begins with a message of yours.)"),
    assistant("Morning"),
    user("first", "hi"),
  ];

  it("brings the thread to a session that begins, and then the new message only", async () => {
    const { say, calls } = await startConversation(() => hello);
    await say({ history });
    await say({ history, text: "more" });
    expect(calls.map(({ messages }) => messages)).toEqual([whole, [user("more")]]);
  });

  it("brings what another agent answered in between, and what nobody answered", async () => {
    const { say, calls } = await startConversation(() => hello);
    const thread = [
      { role: "user" as const, text: "hi", ts: "1.1" },
      { role: "assistant" as const, text: "Hello", ts: "1.2" },
      { role: "user" as const, text: "@other hi", ts: "1.3" },
      { role: "assistant" as const, text: "Another agent's", ts: "1.4" },
      { role: "user" as const, text: "By the way", ts: "1.5" },
    ];
    await say();
    await say({ history: thread });
    expect(calls[1]?.messages).toEqual([
      user("@other hi"),
      assistant("Another agent's"),
      user("By the way", "hi"),
    ]);
  });

  it("brings the thread again when another person speaks, whose memory lacks it", async () => {
    const { say, calls } = await startConversation(() => hello);
    await say();
    await say({ history, user_id: "U2" });
    await say({ history, user_id: "U2" });
    await say({ history });
    expect(calls.map(({ messages }) => messages.length)).toEqual([1, 3, 1, 3]);
    expect(new Set(calls.map((call) => call.session))).toEqual(new Set([session]));
  });

  it("brings the thread again after a failure", async () => {
    const { say, calls } = await startConversation((_call, index) =>
      index === 0 ? [start(), text("Hel")] : hello,
    );
    expect((await say({ history })).at(-1)).toEqual(failure(true));
    await say({ history });
    expect(calls.map(({ messages }) => messages)).toEqual([whole, whole]);
  });

  it("reads nothing for the first message of a thread", async () => {
    const { say, conversation } = await startConversation(() => hello);
    await say();
    expect(conversation).toMatchObject({
      writes: [{ speaker: `${harnessArn} c:T1:U1`, seenTs: "0" }],
    });
    expect(Object(conversation).reads()).toBe(0);
  });

  it("answers while the store is out of order", async () => {
    const { say, conversation, calls } = await startConversation(() => hello);
    const reject = async () => {
      throw new Error("unavailable");
    };
    Object.assign(conversation, { read: reject, write: reject });
    expect((await say({ history })).at(-1)).toEqual({ type: "answer", text: "Hello" });
    expect(calls[0]?.messages).toEqual(whole);
  });

  it("begins a session with the whole thread for each message to a harness without memory", async () => {
    const { say, calls, conversation } = await startConversation(() => hello, { memory: false });
    await say({ history });
    await say({ history });
    expect(calls.map(({ messages }) => messages)).toEqual([whole, whole]);
    expect(calls[0]?.session).not.toBe(session);
    expect(conversation).toMatchObject({ writes: [] });
  });

  it("uses the id of the task as the session without a conversation", async () => {
    const { say, calls } = await startConversation(() => hello);
    await say({}, undefined);
    expect(calls[0]?.session).toMatch(/^[\w-]{36}$/);
  });
});

describe("the answer of a harness", () => {
  const delta = (members: object, contentBlockIndex = 0) =>
    frame({ event: "contentBlockDelta", payload: { contentBlockIndex, delta: members } });
  const serverTool = { toolUseId: "t1", name: "shell", type: "server_tool_use" };
  const blockStart = (members: object) =>
    frame({ event: "contentBlockStart", payload: { contentBlockIndex: 1, start: members } });
  const round = [
    ...message(
      "tool_use",
      text("Let me look."),
      blockStart({ toolUse: serverTool }),
      delta({ toolUse: { input: '{"cmd":"hunter2"}' } }, 1),
    ),
    start("user"),
    blockStart({ toolResult: { toolUseId: "t1", status: "success" } }),
    delta({ toolResult: [{ text: "hunter2" }] }, 1),
    text("hunter2"),
    stop("tool_result"),
  ];

  it("has the texts of all messages of the model, and the tools are progress by their names", async () => {
    const { say, problems } = await startConversation(() => [...round, ...hello]);
    const updates = await say();
    expect(problems).toEqual([]);
    expect(updates).toContainEqual({ type: "progress", text: "shell" });
    expect(updates.at(-1)).toEqual({ type: "answer", text: "Let me look.\n\nHello" });
    expect(JSON.stringify(updates)).not.toContain("hunter2");
  });

  it("has the sum of the tokens of all calls of the model", async () => {
    const usage = { inputTokens: 2, outputTokens: 3, totalTokens: 5, cacheReadInputTokens: 1 };
    const frames = [...round, metadata(usage), ...hello, metadata({ ...usage, totalTokens: 7 })];
    const { last } = await lastFor(frames);
    expect(last).toMatchObject({
      usage: { inputTokens: 4, outputTokens: 6, totalTokens: 12, cacheReadInputTokens: 2 },
    });
  });

  it("leaves out reasoning, events of hooks and events that later versions may add", async () => {
    const { last } = await lastFor([
      frame({ event: "initial-response", payload: {} }),
      encodeMessage({ ":message-type": "event", ":event-type": "newest" }, "no JSON"),
      frame({ event: "hookEvent", payload: { hookEventId: "h", name: "n", reason: "hunter2" } }),
      start(),
      delta({ reasoningContent: { text: "hunter2" } }),
      delta({ text: null, toolUse: null }),
      delta({ image: "hunter2" }),
      text("Hello"),
      frame({ event: "contentBlockStop", payload: { contentBlockIndex: 0 } }),
      stop("end_turn"),
    ]);
    expect(last).toEqual({ type: "answer", text: "Hello" });
  });

  it.each([
    ["max_tokens", "reached the model's length limit"],
    ["max_output_tokens_exceeded", "reached the model's length limit"],
    ["model_context_window_exceeded", "reached the model's length limit"],
    ["max_iterations_exceeded", "reached a limit of time or steps"],
    ["timeout_exceeded", "reached a limit of time or steps"],
    ["hook_stopped", "was stopped before it finished"],
    ["interrupted", "was stopped before it finished"],
    ["partial_turn", "was stopped before it finished"],
  ])("says that it is cut after the stop reason %s", async (reason, note) => {
    const { last } = await lastFor(message(reason, text("Hello")));
    expect(last).toEqual({ type: "answer", text: expect.stringContaining(note) });
  });

  it.each(["content_filtered", "malformed_model_output", "malformed_tool_use"])(
    "fails for the stop reason %s",
    async (reason) => {
      const { last } = await lastFor(message(reason, text("Hello")));
      expect(last).toEqual({ type: "failure", reason: "execution_failed" });
    },
  );
});

describe("a harness that fails", () => {
  it.each([
    [400, false],
    [403, false],
    [424, false],
    [429, false],
    [500, false],
    [502, true],
    [504, true],
  ])("fails the task for the status %s", async (status, lost) => {
    const response = Response.json({ message: "hunter2" }, { status });
    expect((await lastFor(response)).last).toEqual(failure(lost));
  });

  it.each<[string, Uint8Array[], string, boolean]>([
    ...["internalServerException", "validationException", "runtimeClientError"].map(
      (name): [string, Uint8Array[], string, boolean] => [
        `${name} after a text`,
        [start(), text("Hello"), exception(name, "hunter2")],
        `exception ${name}`,
        false,
      ],
    ),
    [
      "an exception after the end",
      [...hello, exception("runtimeClientError", "hunter2")],
      "exception runtimeClientError",
      false,
    ],
    [
      "an exception that is sent as an event",
      [frame({ event: "internalServerException", payload: { message: "hunter2" } })],
      "exception internalServerException",
      false,
    ],
    [
      "an exception of a later version",
      [exception("hunter2", "hunter2")],
      "an unknown exception",
      false,
    ],
    [
      "an error without a model",
      [encodeMessage({ ":message-type": "error", ":error-code": "hunter2" }, "")],
      "an unknown exception",
      false,
    ],
    [
      "a message of an unknown type",
      [encodeMessage({ ":message-type": "hunter2" }, "")],
      ":message-type: unknown",
      true,
    ],
    ["a message without headers", [encodeMessage({}, "{}")], ":message-type: unknown", true],
    ["no event", [], "before the last messageStop", true],
    ["an end within a message", [start(), text("Hello")], "before the last messageStop", true],
    [
      "an end between two messages",
      message("tool_result", text("Hello")),
      "before the last messageStop",
      true,
    ],
    [
      "an end after a tool of the harness",
      message("tool_use", text("Hello")),
      "before the last messageStop",
      true,
    ],
    ["a text after the end", [...hello, text("more")], "before the last messageStop", true],
    [
      "an event that is no JSON",
      [encodeMessage({ ":message-type": "event", ":event-type": "metadata" }, "hunter2")],
      "metadata: no JSON object",
      true,
    ],
    [
      "an event that is a list",
      [frame({ event: "messageStop", payload: [] })],
      "messageStop: no JSON object",
      true,
    ],
    [
      "a text of another type",
      [frame({ event: "contentBlockDelta", payload: { delta: { text: 1 } } })],
      "contentBlockDelta.delta.text: wrong type",
      true,
    ],
    [
      "a stop without a reason",
      [start(), text("Hello"), frame({ event: "messageStop", payload: { stopReason: null } })],
      "messageStop.stopReason: wrong type",
      true,
    ],
    [
      "a tool without a name",
      [frame({ event: "contentBlockStart", payload: { start: { toolUse: { toolUseId: "a" } } } })],
      "contentBlockStart.start.toolUse: wrong type",
      true,
    ],
    [
      "an end within a frame",
      [start(), text("Hello").subarray(0, 30)],
      "the stream ends within a message",
      true,
    ],
    ["a frame of 4 GiB", [start(), Buffer.alloc(8, 0xff)], "an impossible length", true],
    ["a frame without a length", [start(), Buffer.alloc(64)], "an impossible length", true],
    ["a wrong checksum", [start(), damage(text("Hello"))], "is damaged", true],
  ])("fails the task for %s", async (_what, frames, cause, lost) => {
    const { last, causes } = await lastFor(frames);
    expect(last).toEqual(failure(lost));
    expect(causes).toEqual([expect.stringContaining(cause)]);
    expect(JSON.stringify({ last, causes })).not.toContain("hunter2");
  });

  it("fails the task for a response that is no event stream", async () => {
    const { last, causes } = await lastFor(Response.json({ result: "hunter2" }));
    expect(last).toEqual(failure(true));
    expect(causes).toEqual(["the response is no application/vnd.amazon.eventstream"]);
  });

  it("fails the task when the connection breaks after a text", async () => {
    const { body } = streamOf([start(), text("Hello")]);
    const broken = body?.pipeThrough(
      new TransformStream({ flush: (controller) => controller.error(new Error("cut")) }),
    );
    const type = { "content-type": "application/vnd.amazon.eventstream" };
    const { last } = await lastFor(new Response(broken ?? null, { headers: type }));
    expect(last).toEqual(failure(true));
  });
});

/** With another byte before its checksum. */
function damage(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  copy[copy.length - 6] = (copy.at(-6) ?? 0) ^ 1;
  return copy;
}

describe("a question of a harness", () => {
  const call = (id: string, input: unknown, index = 1) =>
    toolUse({ index, id, name: "ask_person", input: JSON.stringify(input) });
  const which = { question: "Which one?", options: ["east", "west"] };

  /** Asks with the calls, and answers each question with the next reply. */
  async function ask(calls: Buffer[], replies: Partial<AgentAnswer>[]) {
    const conversation = await startConversation((_call, index) =>
      index === 0 ? message("tool_use", text("Two sites are down."), ...calls) : hello,
    );
    const answers: AgentAnswer[] = [];
    const ends = [(await conversation.say()).at(-1)];
    for (const reply of replies) {
      const question = ends.at(-1);
      if (question?.type !== "question") throw new Error("no question");
      answers.push({ prompt: question.prompt, state: question.state, text: "", ...reply });
      ends.push((await conversation.say({ answers: [...answers] })).at(-1));
    }
    expect(conversation.problems).toEqual([]);
    return { ...conversation, ends };
  }

  const results = (...texts: string[]) =>
    texts.map((each, index) => ({
      toolResult: {
        ...{ toolUseId: `a${index}`, content: [{ text: each }] },
        status: each.includes("not available") ? "error" : "success",
      },
    }));

  it("has the text before it and the options, and its reply is the result of the function", async () => {
    const { calls, ends } = await ask([call("a0", which)], [{ option_id: "west" }]);
    expect(ends).toEqual([
      expect.objectContaining({
        ...{ type: "question", prompt: "Two sites are down.\n\nWhich one?" },
        options: [
          { id: "east", label: "east" },
          { id: "west", label: "west" },
        ],
      }),
      { type: "answer", text: "Hello" },
    ]);
    expect(calls[1]).toMatchObject({ session, actorId: "c:T1:U1" });
    expect(calls[1]?.messages).toEqual([
      {
        role: "assistant",
        content: [{ toolUse: { toolUseId: "a0", name: "ask_person", input: which } }],
      },
      { role: "user", content: results("west") },
    ]);
  });

  it("comes after another one for several calls, and each call gets a result", async () => {
    const { calls, ends } = await ask(
      [call("a0", { prompt: "Name?" }), call("a1", { run: "rm" }, 1), call("a2", which, 2)],
      [{ text: "Ada" }, { text: "north" }],
    );
    expect(ends.map((end) => Object(end).prompt)).toEqual([
      "Two sites are down.\n\nName?",
      "Which one?",
      undefined,
    ]);
    expect(calls).toHaveLength(2);
    expect(calls[1]?.messages.at(-1)?.content).toEqual(
      results("Ada", "This function is not available here.", "north"),
    );
  });

  it("comes again after a reply without a text", async () => {
    const { calls, ends } = await ask([call("a0", which)], [{ text: " " }, { text: "east" }]);
    expect(ends.map((end) => Object(end).prompt)).toEqual([
      "Two sites are down.\n\nWhich one?",
      "Which one?",
      undefined,
    ]);
    expect(calls).toHaveLength(2);
  });

  it("leads to a further question", async () => {
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
    const { say } = await startConversation((_call, index) => [
      ...(index < 2 ? message("tool_use", call(`a${index}`, which)) : hello),
      metadata(usage),
    ]);
    const answers: AgentAnswer[] = [];
    for (const text of ["east", "west"]) {
      const question = (await say({ answers: [...answers] })).at(-1);
      const { prompt, state } = Object(question);
      answers.push({ prompt, state, text });
    }
    expect((await say({ answers })).at(-1)).toEqual({
      ...{ type: "answer", text: "Hello" },
      usage: { inputTokens: 3, outputTokens: 3, totalTokens: 6 },
    });
  });

  it.each<[string, Buffer[], string]>([
    ["a function that asks nothing", [call("a0", { run: "hunter2" })], "has no text in question"],
    [
      "a function without parameters",
      [toolUse({ index: 1, id: "a0", name: "f", input: "" })],
      "has no text in question",
    ],
    [
      "an input that is no JSON",
      [toolUse({ index: 1, id: "a0", name: "f", input: '{"question":"hunter2' })],
      "input: not JSON",
    ],
    [
      "an input that no store takes",
      [call("a0", { ...which, x: "x".repeat(64_600) })],
      "too large",
    ],
    ["an input of megabytes", [call("a0", { ...which, x: "x".repeat(3_000_000) })], "too large"],
    [
      "an input that is deeply nested",
      [toolUse({ index: 1, id: "a0", name: "f", input: "[".repeat(900) + "]".repeat(900) })],
      "too large",
    ],
    [
      "more calls than anybody answers",
      Array.from({ length: 21 }, (_, index) => call(`a${index}`, which, index)),
      "too large",
    ],
    [
      "more calls than anybody makes",
      Array.from({ length: 101 }, (_, index) => call(`a${index}`, which, index)),
      "too many",
    ],
  ])("does not come from %s", async (_what, calls, cause) => {
    const { last, causes } = await lastFor(message("tool_use", ...calls));
    expect(last).toMatchObject({ type: "failure", reason: "execution_failed" });
    expect(causes).toEqual([expect.stringContaining(cause)]);
    expect(JSON.stringify(causes)).not.toContain("hunter2");
  });

  it("does not come from a call of a message before the last one", async () => {
    const { last } = await lastFor([...message("tool_use", call("a0", which)), ...hello]);
    expect(last).toEqual({ type: "answer", text: "Hello" });
  });

  it("fails if another agent asked it", async () => {
    const { say, calls, causes } = await startConversation(() => hello);
    const answers = [{ prompt: "?", text: "yes", state: { agUi: 1 } }];
    expect(await say({ answers })).toEqual([failure(false)]);
    expect(calls).toEqual([]);
    expect(causes()).toEqual(["the question is one of another agent"]);
  });
});
