/** The memory of the agent for AG-UI between the tasks of a thread: its state, and the ids of its answers. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { agentSchema } from "@sekisho/config/agent-schema.ts";
import {
  addToMemory,
  type Memory,
  nameAnswers,
  readMemory,
} from "@sekisho/execution/agents/ag-ui/memory.ts";
import { createAgent } from "@sekisho/execution/agents/ag-ui.ts";
import {
  type Agent,
  type AgentConversation,
  type AgentTask,
  runAgent,
  type TaskUpdate,
} from "@sekisho/execution/agents/agent.ts";
import { createConversation } from "@sekisho/execution/runs/conversation.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import type { PostedMessage } from "@sekisho/verification/slack/api/slack.ts";
import { createTaskText } from "@sekisho/verification/slack/messages/task-text.ts";
import { createThreadHistory } from "@sekisho/verification/slack/messages/thread-history.ts";
import fc from "fast-check";
import { collectLog } from "../../doubles/collect-log.ts";
import { forAll } from "../../doubles/for-all.ts";
import { sampleTask } from "../../verification/task/sample.ts";
import { createTestHost, hello, memoryConversations } from "../test-host.ts";
import {
  type AgUiServer,
  runOf,
  type ServerEvent,
  startAgUiServer,
  textOf,
} from "./ag-ui-server.ts";
import { agentContext, agentTask, memoryConversation } from "./agent-context.ts";

let server: AgUiServer | undefined;

afterEach(async () => {
  const problems = server?.problems ?? [];
  await server?.close();
  server = undefined;
  expect(problems).toEqual([]);
});

type Answer = Parameters<typeof startAgUiServer>[0];

async function startAgent(answer: Answer): Promise<Agent> {
  server = await startAgUiServer(answer);
  return createAgent({
    config: agentSchema.parse({ type: "ag-ui", url: server.url }),
    ...{ readSecret: async () => "", region: undefined },
    credentials: async () => ({ accessKeyId: "", secretAccessKey: "" }),
  });
}

async function run(request: {
  agent: Agent;
  conversation: AgentConversation;
  task?: Partial<AgentTask>;
}) {
  const { agent, conversation, task = {} } = request;
  const { log, entries } = collectLog({ service: "execution" });
  const context = { ...agentContext(undefined, log), contextId: "thread-1", conversation };
  let end: TaskUpdate | undefined;
  for await (const update of runAgent(agent, agentTask({ ...hello, ...task }), context))
    end = update;
  return { end, logged: entries().map(({ message }) => message) };
}

/** The thread in Slack, with the posts that the Verification zone makes of the answers. */
function openThread() {
  const posts: PostedMessage[] = [];
  let seconds = Math.floor(Date.now() / 1000);
  const post = (text: string, other: Partial<PostedMessage>) => {
    seconds += 1;
    const common = { markdown: text, user: "U1", fileIds: [], key: undefined };
    posts.push({ ...common, text, from: "person", ts: seconds.toFixed(6), ...other });
    return posts.length;
  };
  return {
    ask(text: string) {
      seconds += 600;
      const history = createThreadHistory({
        ...{ messages: posts, message: { ts: "9999999999.0" }, mayRead: () => true },
        nameOf: (id) => (id === "U012AB3CD" ? "robin" : undefined),
      });
      post(text, {});
      const [{ ts: thread_ts } = { ts: "" }] = posts;
      return { text, thread_ts, ...(history.length > 0 && { history }) };
    },
    answer(text: string, mrkdwnFallback = false) {
      const outcome = { type: "answer" as const, text };
      const task = sampleTask({
        ...{ state: "delivering", outcome },
        ...(mrkdwnFallback && { mrkdwnFallback: true as const }),
      });
      const kind = mrkdwnFallback ? ("mrkdwn_answer" as const) : ("answer" as const);
      const parts = createTaskText({ locale: "en" }).parts(task);
      return parts.map((part, index) =>
        post(nameIcons(part.text), {
          ...{ from: "self", user: "UBOT", key: { requestId: task.id, kind, index } },
        }),
      ).length;
    },
  };
}

const iconNames: Record<string, string> = {
  ...{ "✅": "white_check_mark", "1️⃣": "one", "2️⃣": "two", ℹ️: "information_source" },
  ...{ "👍🏽": "+1::skin-tone-4", "㊗️": "congratulations", "™️": "tm", "🇯🇵": "flag-jp" },
};

/** Slack writes an icon by its name. */
function nameIcons(text: string): string {
  return Object.entries(iconNames).reduce(
    (each, [icon, name]) => each.replaceAll(icon, `:${name}:`),
    text,
  );
}

/** A server that merges what it is sent into its own messages by their ids, as LangGraph's does. */
function createCheckpoint(answers: readonly (readonly string[])[]) {
  const messages = new Map<string, string>();
  let runs = 0;
  const answer: Answer = (input) => {
    for (const { id, content } of input.messages)
      if (!messages.has(id)) messages.set(id, String(content));
    const texts = answers[runs] ?? ["ok"];
    runs += 1;
    const ids = texts.map((_, index) => `lc_run--${runs}-${index}`);
    for (const [index, text] of texts.entries()) messages.set(ids[index] ?? "", text);
    return runOf(texts.flatMap((text, index) => textOf(ids[index] ?? "", [text])));
  };
  return { answer, texts: () => [...messages.values()] };
}

const paragraph = (word: string) => `${word} `.repeat(500).trim();

describe("an agent that keeps the messages itself", () => {
  it.each<[string, string[]]>([
    ["plain words", ["Hello there."]],
    ["one word", ["Done."]],
    ["Japanese", ["関所は、江戸時代に街道や河川の要所に置かれた検問所です。".repeat(8)]],
    [
      "marks, links and icons",
      [
        "## Result ✅\n\n**3 of 4** checks [passed](https://ci.example/run?a=1&b=2), see https://ci.example/ and `a<b`.\n\n- one\n- two",
      ],
    ],
    ["code first", ["```python\nprint('a < b')\n```\nThis prints a text."]],
    ["a table", ["| a | b |\n|---|---|\n| 1 | 2 |\n\nThat is all there is."]],
    ["a mention", ["@robin (U012AB3CD) has deployed it, and @U012AB3CD may undo it."]],
    ["icons of digits and letters", ["1️⃣ First ℹ️ 2️⃣ Second 👍🏽 🇯🇵 ™️ ㊗️ 合格"]],
    ["only an icon", ["✅"]],
    ["only marks", ["..."]],
    [
      "only a table",
      ["| Name | Value |\n|:---|---:|\n| **x** | `2` |\n| [l](https://a.example/) | 2 |"],
    ],
    ["a list of tasks", ["- [ ] one\n- [x] two\n\n1. three\n1. four"]],
    [
      "links of other forms",
      [
        '[a](https://a.example/x "A title"), [b][1], mailto:kim@a.example\n\n[1]: https://a.example/',
      ],
    ],
    ["HTML", ["<b>Bold</b> &amp; <br> a &lt; b"]],
    ["a footnote", ["As said[^1].\n\n[^1]: there"]],
    ["code within waves", ["~~~js\nlet a = 1\n~~~\nend"]],
    ["Arabic and half-width kana", ["مرحبًا بكم، هذا نصٌّ طويلٌ. ｶﾞｷﾞ ﾊﾟﾋﾟ ①㍿ ".repeat(9)]],
    ["a file", ["word ".repeat(20_000)]],
    ["several messages", ["Let me look.", "It is **42**."]],
    ["several posts", [["Alpha", "Beta", "Gamma", "Delta"].map(paragraph).join("\n\n")]],
  ])("reads its own answer once, with %s", async (_what, texts) => {
    for (const mrkdwnFallback of [false, true]) {
      const checkpoint = createCheckpoint([texts, ["Second."], texts]);
      const agent = await startAgent(checkpoint.answer);
      const conversation = memoryConversation();
      const thread = openThread();
      const questions = ["one", "two", "three", "four"];
      for (const question of questions) {
        const { end } = await run({ agent, conversation, task: thread.ask(question) });
        if (end?.type !== "answer") throw new Error("no answer");
        thread.answer(end.text, mrkdwnFallback);
      }
      expect(checkpoint.texts()).toEqual([
        ...["one", ...texts, "two", "Second.", "three", ...texts, "four", "ok"],
      ]);
      await server?.close();
    }
  });

  it("reads equal answers once each, and one that was never posted", async () => {
    const checkpoint = createCheckpoint([["Done."], ["Done."], ["Done."], ["Done."]]);
    const agent = await startAgent(checkpoint.answer);
    const conversation = memoryConversation();
    const thread = openThread();
    for (const question of ["one", "two", "three", "four"]) {
      await run({ agent, conversation, task: thread.ask(question) });
      if (question !== "two") thread.answer("Done.");
    }
    const done = checkpoint.texts().filter((text) => text === "Done.");
    expect(done).toHaveLength(4);
  });

  it("gets the ids that it lists, if those that it streamed are others", async () => {
    const agent = await startAgent((input) => {
      const listed = { id: `kept-${input.messages.length}`, role: "assistant", content: "Hello" };
      const messages = [...input.messages, listed];
      return runOf([...textOf("streamed", ["Hello"]), { type: "MESSAGES_SNAPSHOT", messages }]);
    });
    const conversation = memoryConversation();
    const thread = openThread();
    await run({ agent, conversation, task: thread.ask("one") });
    thread.answer("Hello");
    await run({ agent, conversation, task: thread.ask("two") });
    expect(server?.inputs[1]?.messages[1]).toMatchObject({ id: "kept-1", content: "Hello" });
  });

  it("gets the whole thread as one list, also the answers of others", async () => {
    const agent = await startAgent(() => runOf(textOf("m1", ["My own."])));
    const conversation = memoryConversation();
    const thread = openThread();
    await run({ agent, conversation, task: thread.ask("one") });
    thread.answer("My own.");
    thread.ask("other: two");
    thread.answer("Of another agent.");
    await run({ agent, conversation, task: thread.ask("three") });
    expect(server?.inputs[1]?.messages.map(({ content }) => content)).toEqual([
      ...["one", "My own.", "other: two", "Of another agent.", "three"],
    ]);
    const ids = server?.inputs[1]?.messages.map(({ id }) => id) ?? [];
    expect(ids[1]).toBe("m1");
    expect(ids[3]).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("the state of a conversation", () => {
  /** The states that the requests of tasks begin with, for the events of each. */
  async function statesOf(runs: readonly ServerEvent[][], conversation = memoryConversation()) {
    const agent = await startAgent(() => runs[(server?.inputs.length ?? 0) - 1] ?? runOf([]));
    for (const _ of runs) await run({ agent, conversation });
    return { states: server?.inputs.map(({ state }) => state), conversation };
  }
  const snapshot = (value: unknown) => ({ type: "STATE_SNAPSHOT", snapshot: value });
  const ok = textOf("m1", ["ok"]);

  it("begins with that of the task before", async () => {
    const delta = [{ op: "add", path: "/b", value: 2 }];
    const { states } = await statesOf([
      runOf([snapshot({ a: 1 }), ...ok]),
      runOf([{ type: "STATE_DELTA", delta }, ...ok]),
      runOf(ok),
      runOf(ok),
    ]);
    expect(states).toEqual([{}, { a: 1 }, { a: 1, b: 2 }, { a: 1, b: 2 }]);
  });

  it("stays as it was after a run that failed or broke off", async () => {
    const failed = [{ type: "RUN_ERROR", message: "x" }];
    const { states } = await statesOf([
      runOf([snapshot({ a: 1 }), ...ok]),
      [...runOf([snapshot({ a: 2 })]).slice(0, -1), ...failed],
      runOf([snapshot({ a: 3 })]).slice(0, -1),
      runOf(ok),
    ]);
    expect(states).toEqual([{}, { a: 1 }, { a: 1 }, { a: 1 }]);
  });

  it.each<[string, unknown]>([
    ["too large", { a: "x".repeat(66_000) }],
    ["too large as a text", "x".repeat(66_000)],
    ["nested too deeply", JSON.parse(`${'{"a":'.repeat(150)}1${"}".repeat(150)}`)],
    ["emptied", {}],
  ])("begins empty after one that is %s", async (_what, value) => {
    const { states, conversation } = await statesOf([
      ...[runOf([snapshot({ a: 1 }), ...ok]), runOf([snapshot(value), ...ok]), runOf(ok)],
    ]);
    expect(states).toEqual([{}, { a: 1 }, {}]);
    expect(await conversation.read()).toMatchObject({ answers: [{ id: "m1", words: "ok" }] });
  });

  it("leaves out the messages that a server also lists", async () => {
    const messages = [{ id: "m1", role: "assistant", content: "ok" }];
    const listed = { type: "MESSAGES_SNAPSHOT", messages };
    const { states } = await statesOf([
      runOf([...ok, snapshot({ messages, a: 1 }), listed]),
      runOf([...ok, snapshot({ messages, a: 1 })]),
      runOf(ok),
    ]);
    expect(states).toEqual([{}, { a: 1 }, { messages, a: 1 }]);
  });

  it("gives way to that of the question that a person answers", async () => {
    const outcome = { type: "interrupt", interrupts: [{ id: "i1", reason: "x" }] };
    const agent = await startAgent(() =>
      server?.inputs.length === 2
        ? runOf([snapshot({ asked: true })], { outcome })
        : runOf([...ok, ...(server?.inputs.length === 1 ? [snapshot({ a: 1 })] : [])]),
    );
    const conversation = memoryConversation();
    await run({ agent, conversation });
    const { end } = await run({ agent, conversation });
    if (end?.type !== "question") throw new Error("no question");
    const answers = [{ prompt: "", text: "go", state: end.state }];
    await run({ agent, conversation, task: { answers } });
    await run({ agent, conversation });
    expect(server?.inputs.map(({ state }) => state)).toEqual([
      ...[{}, { a: 1 }, { asked: true }, { asked: true }],
    ]);
  });

  it.each([[null], ["x"], [7], [[]], [{ conversation: "c-1" }], [{ agUi: 2, answers: [] }]])(
    "does not begin with what another agent has kept: %j",
    async (value) => {
      const { states } = await statesOf([runOf(ok)], memoryConversation(value));
      expect(states).toEqual([{}]);
    },
  );

  it("costs no write if there is nothing to keep", async () => {
    const { conversation } = await statesOf([runOf([], { result: "ok" })]);
    expect([conversation.reads(), conversation.writes]).toEqual([1, []]);
  });

  it("does not cost the answer if it cannot be stored", async () => {
    const agent = await startAgent(() => runOf(ok));
    const write = async () => Promise.reject(new Error("hunter2"));
    const { end, logged } = await run({ agent, conversation: { ...memoryConversation(), write } });
    expect(end).toMatchObject({ type: "answer", text: "ok" });
    expect(logged).toEqual(["remote_conversation_not_kept"]);
  });

  it("belongs to one thread, through a host", async () => {
    const agent = await startAgent((input) =>
      runOf([...ok, snapshot({ last: input.messages.at(-1)?.content })]),
    );
    const conversations = memoryConversations();
    for (const [text, thread] of [
      ["one", "1"],
      ["two", "2"],
      ["three", "1"],
    ]) {
      const { call } = createTestHost({ agent, conversations });
      const session_id = "s-".padEnd(40, thread);
      await call("execute_task", { ...hello, text, session_id });
    }
    expect(server?.inputs.map(({ state }) => state)).toEqual([{}, {}, { last: "one" }]);
  });
});

describe("the memory of an agent", () => {
  const empty = readMemory(undefined);

  it("stays below the host's limit, with the newest answers", () => {
    let memory: Memory = empty;
    for (let count = 0; count < 200; count++)
      memory = addToMemory(memory, {
        ...{ state: { a: "x".repeat(60_000) }, id: `${count}`.padStart(200, "0") },
        answer: `${count}${"関".repeat(500)}`,
      });
    expect(JSON.stringify(memory).length).toBeLessThanOrEqual(64 * 1024);
    expect(memory.answers.at(-1)?.id).toContain("199");
    expect(memory.answers).toHaveLength(50);
    expect(memory).not.toHaveProperty("state");
  });

  it("takes no id that is too long, and no answer without letters", () => {
    for (const [id, answer] of [
      ["x".repeat(201), "ok"],
      ["m1", "✅ !"],
      [undefined, "ok"],
    ])
      expect(addToMemory(empty, { state: {}, answer: String(answer), id })).toEqual(empty);
  });

  it("has no state that is nested more deeply than the host stores", async () => {
    const state = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);
    for (const [depth, isKept] of [
      [99, true],
      [100, false],
    ] as const) {
      const memory = addToMemory(empty, { state: state(depth), answer: "ok", id: "m1" });
      expect(memory).toMatchObject({ answers: [{ id: "m1" }] });
      expect(memory.state !== undefined).toBe(isKept);
      const options = { principal: "p", session: "s", agentName: "a", timeoutMs: 1000 };
      const log = silentLog;
      const store = memoryConversations();
      await createConversation({ ...options, store, now: Date.now, log }).write(memory);
    }
  });

  it.each([
    ["Done.", "a1"],
    ["_The second try (3f0f6b0e)_\n_From here on, *ops* answers._\nDone.", "a1"],
    ["It is done.", "p1"],
    ["Done. And more.", "p1"],
  ])("has a short answer only for the whole text of a post: %j", (content, id) => {
    const memory = addToMemory(empty, { state: {}, answer: "Done.", id: "a1" });
    const post = { id: "p1", role: "assistant", content, ts: "9" };
    expect(nameAnswers([post], memory)).toEqual([{ id, role: "assistant", content }]);
  });

  it("takes the posts after a short answer for those of other agents", () => {
    const memory = addToMemory(empty, { state: {}, answer: "My own.", id: "a1" });
    const post = (id: string, content: string) => ({ id, role: "assistant", content, ts: "9" });
    const named = nameAnswers([post("p1", "My own."), post("p2", "Of another.")], memory);
    expect(named.map(({ id, content }) => [id, content])).toEqual([
      ...[
        ["a1", "My own."],
        ["p2", "Of another."],
      ],
    ]);
  });

  it("finds an answer in other words only directly after its question", () => {
    const answer = { state: {}, answer: "✅", id: "a1", questionId: "q1" };
    const memory = addToMemory(empty, answer);
    const post = (id: string, role: string, ts: number) => ({ id, role, content: id, ts: `${ts}` });
    const [q1, q2] = [post("q1", "user", 0), post("q2", "user", 100)];
    const idsOf = (...messages: Parameters<typeof nameAnswers>[0]) =>
      nameAnswers(messages, memory).map(({ id }) => id);
    expect(idsOf(q1, post("p1", "assistant", 10), q2)).toEqual(["q1", "a1", "q2"]);
    expect(idsOf(q1, q2, post("p1", "assistant", 110))).toEqual(["q1", "q2", "p1"]);
    const [own, other] = [post("p1", "assistant", 10), post("p2", "assistant", 12)];
    expect(idsOf(q1, own, other, q2)).toEqual(["q1", "a1", "p2", "q2"]);
    const [early, late] = [post("p1", "assistant", 10), post("p2", "assistant", 90)];
    expect(idsOf(q1, early, late, q2)).toEqual(["q1", "a1", "p2", "q2"]);
  });

  it("loses no text and gives no id twice, whatever the thread holds", () => {
    const words = fc.constantFrom("ok", "Done.", "a ".repeat(200), "関所", "", "it is done");
    const message = fc.record({
      role: fc.constantFrom("user", "assistant"),
      content: words,
      ts: fc.option(fc.integer({ min: 0, max: 300 }).map(String), { nil: undefined }),
    });
    const questionId = fc.option(fc.constantFrom("m0", "m1", "m2", "m3"), { nil: undefined });
    const answers = fc.uniqueArray(fc.record({ id: fc.string(), answer: words, questionId }), {
      selector: ({ id }) => id,
    });
    forAll(fc.array(message), answers).hold((items, kept) => {
      const memory = kept.reduce(
        (each, { id, ...news }) => addToMemory(each, { state: {}, ...news, id: `a${id}` }),
        empty,
      );
      const messages = items.map((item, index) => ({ ...item, id: `m${index}` }));
      const named = nameAnswers(messages, memory);
      expect(new Set(named.map(({ id }) => id)).size).toBe(named.length);
      const join = (texts: unknown[]) => texts.join("").replaceAll("\n\n", "");
      expect(join(named.map(({ content }) => content))).toBe(
        join(messages.map(({ content }) => content)),
      );
      expect(named.filter(({ role }) => role === "user")).toEqual(
        messages
          .filter(({ role }) => role === "user")
          .map(({ id, role, content }) => ({ id, role, content })),
      );
    }, 500);
  });
});
