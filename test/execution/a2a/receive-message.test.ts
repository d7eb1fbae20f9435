/** Messages over sockets: tasks that they begin and go on with, answers to questions, and repetitions. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import { questionKey, slackMessageKey, taskKey } from "@sekisho/contracts/a2a/extension.ts";
import type { A2aTask, SendResult } from "@sekisho/contracts/a2a/task.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createGate, memoryStore, yielding } from "../test-host.ts";
import { type A2aHost, serveA2a, userMessage } from "./a2a-host.ts";

type Sent = { task: A2aTask };

const asking: Agent = async function* ({ text, answers }) {
  if (answers.length === 0) {
    yield { type: "question", prompt: "Which?", options: [{ id: "a", label: "The first" }] };
    return;
  }
  yield { type: "answer", text: JSON.stringify([text, ...answers]) };
};

describe("a message", () => {
  it("waits for the task of a message and returns it with its artifacts and its answer", async () => {
    const artifact = { name: "a.bin", mimetype: "image/png", base64: "AAEC" };
    const agent = yielding({ type: "artifact", artifact }, { type: "answer", text: "関所" });
    const host = await serveA2a({ agent });
    const message = userMessage("hello", { contextId: "mine" });
    const { task } = await host.result<Sent>("SendMessage", { message });
    expect([task.status.state, task.contextId]).toEqual(["TASK_STATE_COMPLETED", "mine"]);
    expect(task.artifacts?.map(({ parts }) => parts[0])).toEqual([
      { raw: "AAEC", mediaType: "image/png", filename: "a.bin" },
      { text: "関所" },
    ]);
    expect(task.history).toEqual([{ ...message, taskId: task.id }]);
    const { error } = await host.ask("SubscribeToTask", { id: task.id });
    expect(error).toMatchObject({ code: -32004, data: [{ reason: "UNSUPPORTED_OPERATION" }, {}] });
  });

  it("answers a 0.3 message in the shapes of 0.3", async () => {
    const host = await serveA2a({ agent: yielding({ type: "answer", text: "done" }) });
    const message = {
      kind: "message",
      messageId: randomUUID(),
      role: "user",
      parts: [{ kind: "text", text: "hi" }],
    };
    for (const version of ["0.3", "0.3.0", undefined]) {
      const task = await host.result<{ id: string }>("message/send", { message }, { version });
      expect(task).toMatchObject({
        kind: "task",
        status: { state: "completed" },
        artifacts: [{ artifactId: "answer", parts: [{ kind: "text", text: "done" }] }],
        history: [{ ...message, taskId: task.id }],
      });
      // Clients that show artifacts and messages would show the answer twice.
      expect(task).not.toHaveProperty("status.message");
      expect(
        await host.result("tasks/get", { id: task.id, historyLength: 0 }, { version }),
      ).not.toHaveProperty("history");
    }
  });

  it("passes the parts, the ids and the Slack metadata of a message to the agent", async () => {
    const gate = createGate();
    gate.letGo();
    const host = await serveA2a({ agent: gate.agent });
    const parts = [{ text: "look" }, { data: { a: [1, null] } }];
    const metadata = { [slackMessageKey]: { channel: "C1" } };
    const message = {
      messageId: "m".repeat(256),
      contextId: "mine",
      role: "ROLE_USER",
      parts,
      metadata,
    };
    const sendResult = await host.result<Sent>("SendMessage", { message });
    const [{ task, context } = { task: undefined, context: undefined }] = gate.started;
    expect(task).toMatchObject({ text: "look", parts, channel: "C1", answers: [] });
    const { messageId, contextId, requestId } = context ?? {};
    expect([messageId, requestId]).toEqual([message.messageId, message.messageId]);
    expect(contextId).toMatch(/^[0-9a-f-]{36}$/);
    expect(await host.result("GetTask", { id: sendResult.task.id })).toEqual(sendResult.task);
  });

  it("keeps only the ids of a message that is too large for the history of the task", async () => {
    const gate = createGate();
    gate.letGo();
    const host = await serveA2a({ agent: gate.agent });
    const message = userMessage("", { parts: [{ raw: "AAAA".repeat(10_000) }], contextId: "mine" });
    const { task } = await host.result<Sent>("SendMessage", { message });
    const { messageId } = message;
    const ids = { messageId, taskId: task.id, contextId: "mine", role: "ROLE_USER" };
    expect(task.history).toEqual([{ ...ids, parts: [{ text: "" }] }]);
    expect(gate.started[0]?.task.parts).toEqual(message.parts);
  });

  it("returns a working task at once on request, or when the sync budget runs out", async () => {
    const gate = createGate();
    const host = await serveA2a({ agent: gate.agent, syncBudgetMs: 30 });
    for (const configuration of [{ returnImmediately: true }, undefined]) {
      const { task } = await host.result<Sent>("SendMessage", {
        message: userMessage("hi"),
        configuration,
      });
      expect(task).toMatchObject({
        status: { state: "TASK_STATE_WORKING" },
        metadata: { [taskKey]: { poll_after_ms: 1000 } },
      });
    }
    gate.letGo();
  });

  it.each(["SendMessage", "message/send"])(
    "answers with a message instead of a task (%s)",
    async (method) => {
      const host = await serveA2a({
        agent: yielding({ type: "answer", text: "Hello.", direct: true }),
      });
      const isFirst = method === "SendMessage";
      const message = {
        messageId: "m",
        role: isFirst ? "ROLE_USER" : "user",
        parts: [isFirst ? { text: "hi" } : { kind: "text", text: "hi" }],
      };
      const first = await host.result<SendResult>(method, { message }, { version: undefined });
      expect(first).toMatchObject(
        isFirst ? { message: { role: "ROLE_AGENT" } } : { kind: "message", role: "agent" },
      );
      expect(await host.result(method, { message }, { version: undefined })).toEqual(first);
      expect(await host.result<{ tasks: A2aTask[] }>("ListTasks", {})).toMatchObject({
        tasks: [],
        totalSize: 0,
      });
    },
  );

  it("returns a failed or rejected task with Sekisho's reason and no text of the error", async () => {
    const failingAgent: Agent = async function* () {
      yield* [];
      throw new Error("password=hunter2");
    };
    for (const [agent, state, reason] of [
      [failingAgent, "FAILED", "execution_failed"],
      [yielding({ type: "failure", reason: "plan_error" }), "REJECTED", "plan_error"],
      [yielding({ type: "failure", reason: "budget_exceeded" }), "FAILED", "budget_exceeded"],
    ] as const) {
      const host = await serveA2a({ agent });
      const { task } = await host.result<Sent>("SendMessage", { message: userMessage("hi") });
      expect([task.status.state, task.metadata?.[taskKey]]).toEqual([
        `TASK_STATE_${state}`,
        { reason },
      ]);
      expect(JSON.stringify(task) + host.lines.join("")).not.toContain("hunter2");
    }
  });

  it("refuses a message whose client accepts no possible output mode", async () => {
    const host = await serveA2a();
    const configuration = { acceptedOutputModes: ["image/png"] };
    const { error } = await host.ask("SendMessage", { message: userMessage("hi"), configuration });
    expect([error?.code, error?.data[0]?.reason]).toEqual([-32005, "CONTENT_TYPE_NOT_SUPPORTED"]);
  });

  it("refuses a message while the host stops, and says when to retry", async () => {
    const { host, ask } = await serveA2a();
    await host.stop({ graceMs: 0 });
    const { error, status, headers } = await ask("SendMessage", { message: userMessage("hi") });
    expect([error?.code, status, headers.get("retry-after")]).toEqual([-32603, 503, "1"]);
  });
});

describe("a repeated message id", () => {
  it("returns the same task for a repeated message on any instance and runs the agent once", async () => {
    const gate = createGate();
    const store = memoryStore();
    const [one, other] = [
      await serveA2a({ store, agent: gate.agent }),
      await serveA2a({ store, agent: gate.agent }),
    ];
    const message = userMessage("hi");
    const configuration = { returnImmediately: true };
    const sendResults = [one, other, one].map((host) =>
      host.result<Sent>("SendMessage", { message, configuration }),
    );
    const ids = (await Promise.all(sendResults)).map(({ task }) =>
      [task.id, task.contextId].join(),
    );
    expect(new Set(ids).size).toBe(1);
    gate.letGo();
    const { task } = await other.result<Sent>("SendMessage", {
      message: { ...message, metadata: { again: true } },
    });
    expect([task.status.state, gate.started.length]).toEqual(["TASK_STATE_COMPLETED", 1]);
  });

  it("refuses a repeated message id with other content", async () => {
    const host = await serveA2a();
    const message = userMessage("hi");
    await host.result("SendMessage", { message });
    const { error } = await host.ask("SendMessage", {
      message: { ...message, parts: [{ text: "other" }] },
    });
    expect([error?.code, error?.data[0]?.reason]).toEqual([-32602, "ALREADY_EXISTS"]);
  });

  it("starts another task for a repeated message id when deduplication is off", async () => {
    const host = await serveA2a({ a2a: { deduplicates: false } });
    const message = userMessage("hi");
    const sendResults = [
      await host.result<Sent>("SendMessage", { message }),
      await host.result<Sent>("SendMessage", { message }),
    ];
    expect(new Set(sendResults.map(({ task }) => task.id)).size).toBe(2);
  });

  it("continues a task by a repeated message id when deduplication is off", async () => {
    const agent = yielding({ type: "question", prompt: "Which?" });
    const host = await serveA2a({ agent, a2a: { deduplicates: false } });
    const message = userMessage("hi");
    const { task } = await host.result<Sent>("SendMessage", { message });
    const again = { message: { ...message, taskId: task.id } };
    for (const _ of [1, 2])
      expect((await host.result<Sent>("SendMessage", again)).task.id).toBe(task.id);
    const { history = [] } = await host.result<A2aTask>("GetTask", { id: task.id });
    expect(history.filter(({ messageId }) => messageId === message.messageId)).toHaveLength(3);
  });
});

describe("a message to a task", () => {
  it("answers a question on another instance and adds the answer to the history", async () => {
    const store = memoryStore();
    const [one, other] = [
      await serveA2a({ store, agent: asking }),
      await serveA2a({ store, agent: asking }),
    ];
    const { task: askingTask } = await one.result<Sent>("SendMessage", {
      message: userMessage("Fly me"),
    });
    expect(askingTask.status).toMatchObject({
      state: "TASK_STATE_INPUT_REQUIRED",
      message: {
        parts: [{ text: "Which?" }],
        metadata: { [questionKey]: { options: [{ id: "a", label: "The first" }] } },
      },
    });
    const message = userMessage("The first", { taskId: askingTask.id });
    const { task } = await other.result<Sent>("SendMessage", { message });
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    const answerRecord = JSON.parse(task.artifacts?.[0]?.parts[0]?.text ?? "");
    expect(answerRecord).toEqual([
      "Fly me",
      { prompt: "Which?", text: "The first", option_id: "a" },
    ]);
    expect(task.history?.map(({ parts }) => parts[0]?.text)).toEqual([
      "Fly me",
      "Which?",
      "The first",
    ]);
    const again = await one.result<Sent>("SendMessage", { message });
    expect(again.task).toEqual(task);
    const { error } = await one.ask("SendMessage", {
      message: { ...message, parts: [{ text: "no" }] },
    });
    expect([error?.code, error?.data[0]?.reason]).toEqual([-32602, "ALREADY_EXISTS"]);
  });

  it.each([
    ["an unknown task", async () => ({ taskId: randomUUID() }), -32001, "TASK_NOT_FOUND"],
    [
      "a task in another context",
      async (host: A2aHost) => {
        const { task } = await host.result<Sent>("SendMessage", {
          message: userMessage("hi", { contextId: "one" }),
        });
        return { taskId: task.id, contextId: "two" };
      },
      -32602,
      "INVALID_PARAMS",
    ],
  ])("refuses a message to %s", async (_name, prepare, code, reason) => {
    const host = await serveA2a({ agent: asking });
    const { error } = await host.ask("SendMessage", {
      message: userMessage("b", await prepare(host)),
    });
    expect([error?.code, error?.data[0]?.reason]).toEqual([code, reason]);
  });

  it("refuses a message to a working task and stores nothing of it", async () => {
    const gate = createGate();
    const host = await serveA2a({ agent: gate.agent });
    const configuration = { returnImmediately: true };
    const { task } = await host.result<Sent>("SendMessage", {
      message: userMessage("hi"),
      configuration,
    });
    const { error } = await host.ask("SendMessage", {
      message: userMessage("hurry", { taskId: task.id }),
    });
    expect(error?.code).toBe(-32004);
    gate.letGo();
    expect((await host.result("GetTask", { id: task.id })).history).toHaveLength(1);
  });
});

const askingOnce: Agent = async function* ({ answers }) {
  const options = [{ id: "a", label: "The first" }];
  if (answers.length === 0) yield { type: "question", prompt: "Which?", options };
  else
    yield {
      type: "answer",
      text: JSON.stringify(answers.map(({ text, option_id }) => option_id ?? text)),
    };
};

async function askUser(): Promise<{
  host: A2aHost;
  to: { taskId: string; contextId: string | undefined };
}> {
  const host = await serveA2a({ agent: askingOnce });
  const { task } = await host.result<Sent>("SendMessage", { message: userMessage("Fly me") });
  return { host, to: { taskId: task.id, contextId: task.contextId } };
}

const tooLate = {
  code: -32004,
  data: [{ reason: "UNSUPPORTED_OPERATION" }, { reason: "INVALID_STATE" }],
};

describe("a new message with the text of the last reply", () => {
  it("refuses a new message that repeats the last answer of a completed task", async () => {
    const { host, to } = await askUser();
    await host.result("SendMessage", { message: userMessage("Yes", to) });
    const { error } = await host.ask("SendMessage", { message: userMessage("Yes", to) });
    expect(error).toMatchObject(tooLate);
  });

  it("accepts only one of many equal answers that arrive at once", async () => {
    const { host, to } = await askUser();
    const all = await Promise.all(
      new Array(10).fill(0).map(() => host.ask("SendMessage", { message: userMessage("Yes", to) })),
    );
    expect(all.filter(({ result }) => result !== undefined)).toHaveLength(1);
    for (const { error } of all) if (error !== undefined) expect(error).toMatchObject(tooLate);
  });
});

it("shows an answer of the zone contract in the history like a message", async () => {
  const { host, to } = await askUser();
  await host.call("answer_task", { task_id: to.taskId, option_id: "a" });
  const { history } = await host.result("GetTask", { id: to.taskId });
  expect(history?.map(({ role, parts }) => [role, parts[0]?.text])).toEqual([
    ["ROLE_USER", "Fly me"],
    ["ROLE_AGENT", "Which?"],
    ["ROLE_USER", "a"],
  ]);
});

describe("a message to a task with a question", () => {
  it.each([
    [
      "an option that was not offered",
      { metadata: { [questionKey]: { option_id: "b" } } },
      "message.metadata",
    ],
    ["an empty reply", { parts: [{ text: "" }] }, "message.parts"],
  ])("refuses %s as the reply and keeps the question open", async (_what, more, path) => {
    const { host, to } = await askUser();
    const { error } = await host.ask("SendMessage", {
      message: userMessage("x", { ...to, ...more }),
    });
    expect(error?.code).toBe(-32602);
    expect(JSON.stringify(error?.data)).toContain(`"${path}"`);
    const { status } = await host.result("GetTask", { id: to.taskId });
    expect(status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  });

  it("accepts an answer that is not one of the options, and a file", async () => {
    const { host, to } = await askUser();
    const parts = [{ raw: "AAAA", filename: "answer.bin" }];
    const { task } = await host.result<Sent>("SendMessage", {
      message: userMessage("", { ...to, parts }),
    });
    expect(task.status.state).toBe("TASK_STATE_COMPLETED");
    const other = await askUser();
    const free = await other.host.result<Sent>("SendMessage", {
      message: userMessage("neither", other.to),
    });
    expect(free.task.artifacts?.[0]?.parts[0]?.text).toBe('["neither"]');
  });
});

const messages = {
  "1.0": ["SendMessage", { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] }],
  "0.3": [
    "message/send",
    { kind: "message", messageId: "m2", role: "user", parts: [{ kind: "text", text: "hi" }] },
  ],
} as const;

describe("an extension that a request asks for", () => {
  it.each([
    ["1.0", "a2a-extensions"],
    ["0.3", "x-a2a-extensions"],
  ] as const)(
    "lists a requested extension in a response of %s only if the host supports it",
    async (version, name) => {
      const host = await serveA2a({ store: memoryStore() });
      const [method, message] = messages[version];
      const ask = (uris: string) =>
        host.ask(method, { message }, { version, headers: { [name]: uris } });
      const extensionUri = "urn:sekisho:task:v1";
      expect((await ask(`https://example.com/other, ${extensionUri}`)).headers.get(name)).toBe(
        extensionUri,
      );
      expect((await ask("https://example.com/other")).headers.get(name)).toBeNull();
    },
  );
});
