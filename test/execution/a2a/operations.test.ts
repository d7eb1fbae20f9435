import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { type OperationParams, operations } from "@sekisho/contracts/a2a/operations.ts";
import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import { listTasks } from "@sekisho/execution/a2a/list-tasks.ts";
import type { TaskPage } from "@sekisho/execution/a2a/operation.ts";
import type { Authenticator } from "@sekisho/execution/authenticator/authenticator.ts";
import { type ExecutionTask, parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import fc from "fast-check";
import { folderOfTest } from "../../tooling/cleanup.ts";
import { recordOf } from "../tasks/records.ts";
import { createGate, eventually, memoryStore, yielding } from "../test-host.ts";
import { type A2aHost, serveA2a, startA2aHost, userMessage } from "./a2a-host.ts";

type Page = { tasks: A2aTask[]; nextPageToken: string; pageSize: number; totalSize: number };

async function begin(host: A2aHost, message = {}): Promise<A2aTask> {
  const configuration = { returnImmediately: true };
  const params = { message: userMessage("hi", message), configuration };
  return (await host.result<{ task: A2aTask }>("SendMessage", params)).task;
}

async function finish(host: A2aHost, message = {}): Promise<A2aTask> {
  return (
    await host.result<{ task: A2aTask }>("SendMessage", { message: userMessage("hi", message) })
  ).task;
}

describe("a canceled task", () => {
  it.each([
    ["1.0", "CancelTask", "TASK_STATE_CANCELED"],
    ["0.3", "tasks/cancel", "canceled"],
  ])(
    "keeps a task canceled in %s after its agent ends, and accepts repeated cancels on any instance",
    async (version, method, state) => {
      const store = memoryStore();
      const gate = createGate({ heedsSignal: false });
      const times = { leaseMs: 40, lostAfterMs: 10_000 };
      const [runner, other] = [
        await serveA2a({ store, agent: gate.agent, ...times }),
        await serveA2a({ store, ...times }),
      ];
      const { id } = await begin(runner);
      const canceledTask = await other.result(method, { id }, { version });
      expect(canceledTask.status.state).toBe(state);
      await eventually(() => gate.started[0]?.context.signal.aborted === true);
      gate.letGo();
      await eventually(() => !runner.host.busy());
      expect(await runner.result(method, { id }, { version })).toEqual(canceledTask);
    },
  );
});

describe("a task of another caller", () => {
  /** Whoever says who they are is believed. */
  const authenticator: Authenticator = {
    kind: "platform",
    authenticate: async ({ header }) => header("x-caller") ?? "nobody",
  };
  const by = (caller: string) => ({ headers: { "x-caller": caller } });
  const nobodys = "6f1d4a3e-7b52-8c1f-9a55-2a6d3c0f7e11";
  const push = { url: "https://hooks.example/", id: "c" };

  it.each([
    ["GetTask", (id: string) => ({ id })],
    ["CancelTask", (id: string) => ({ id })],
    ["SubscribeToTask", (id: string) => ({ id })],
    ["SendMessage", (taskId: string) => ({ message: userMessage("yes", { taskId }) })],
    ["CreateTaskPushNotificationConfig", (taskId: string) => ({ ...push, taskId })],
    ["GetTaskPushNotificationConfig", (taskId: string) => ({ taskId, id: "c" })],
    ["ListTaskPushNotificationConfigs", (taskId: string) => ({ taskId })],
    ["DeleteTaskPushNotificationConfig", (taskId: string) => ({ taskId, id: "c" })],
  ])("hides another caller's task and an unknown task from %s", async (method, paramsOf) => {
    const agent = yielding({ type: "question", prompt: "Which?" });
    const host = await serveA2a({
      agent,
      authenticator,
      a2a: { notifications: { send: async () => {} } },
    });
    const { task } = await host.result<{ task: A2aTask }>(
      "SendMessage",
      { message: userMessage("hi") },
      by("mine"),
    );
    await host.result("CreateTaskPushNotificationConfig", { ...push, taskId: task.id }, by("mine"));
    for (const [id, caller] of [
      [task.id, "theirs"],
      [nobodys, "mine"],
    ] as const) {
      const { error } = await host.ask(method, paramsOf(id), by(caller));
      expect(error).toMatchObject({
        code: -32001,
        data: [{ reason: "TASK_NOT_FOUND", domain: "a2a-protocol.org" }, {}],
      });
    }
    const { status } = await host.result("GetTask", { id: task.id }, by("mine"));
    expect(status.state).toBe("TASK_STATE_INPUT_REQUIRED");
  });

  it.each(["tasks/get", "tasks/cancel", "tasks/resubscribe"])(
    "answers that an unknown task is not found to %s in 0.3",
    async (method) => {
      const answer = await (await serveA2a()).ask(method, { id: nobodys }, { version: "0.3" });
      expect(answer.error?.code).toBe(-32001);
      // The official SDK's server of 0.3 answers a call for a stream by one, whatever comes of it.
      const type = method === "tasks/resubscribe" ? "text/event-stream" : "application/json";
      expect(answer.headers.get("content-type")).toBe(type);
    },
  );
});

describe("the listing", () => {
  it("filters the listing by context, state and time, and counts the matches", async () => {
    const gate = createGate();
    const host = await serveA2a({ agent: gate.agent });
    const running = await begin(host, { contextId: "a" });
    const canceledTask = await begin(host, { contextId: "b" });
    const { status } = await host.result("CancelTask", { id: canceledTask.id });
    const list = async (params: object) => {
      const { tasks, totalSize, nextPageToken } = await host.result<Page>("ListTasks", params);
      expect([tasks.length, nextPageToken]).toEqual([totalSize, ""]);
      return tasks.map(({ id }) => id);
    };
    expect(await list({ contextId: "a" })).toEqual([running.id]);
    expect(await list({ status: "TASK_STATE_CANCELED" })).toEqual([canceledTask.id]);
    expect(await list({ status: "TASK_STATE_CANCELED", contextId: "a" })).toEqual([]);
    expect(await list({ statusTimestampAfter: status.timestamp })).toContain(canceledTask.id);
    expect(await list({ statusTimestampAfter: "2999-01-01T00:00:00+02:00" })).toEqual([]);
    gate.letGo();
  });

  it("lists artifacts and history only on request", async () => {
    const host = await serveA2a({ agent: yielding({ type: "answer", text: "done" }) });
    await finish(host);
    const { tasks } = await host.result<Page>("ListTasks", {
      includeArtifacts: true,
      historyLength: 5,
    });
    expect(tasks[0]).toMatchObject({
      artifacts: [{ artifactId: "answer", parts: [{ text: "done" }] }],
      history: [{}],
    });
    expect(await host.result<Page>("ListTasks", {})).toEqual({
      ...{ pageSize: 50, totalSize: 1, nextPageToken: "" },
      tasks: [{ id: tasks[0]?.id, contextId: tasks[0]?.contextId, status: tasks[0]?.status }],
    });
  });

  it("lists no task of another caller or of the zone contract", async () => {
    const store = memoryStore();
    const host = await serveA2a({ store });
    await host.call("execute_task", { channel: "C1", text: "hi" });
    await finish(host);
    const item = await store.get({ id: (await host.result<Page>("ListTasks")).tasks[0]?.id ?? "" });
    if (item) await store.create({ item: { ...item, id: "theirs", principal: "another" } });
    expect((await host.result<Page>("ListTasks")).totalSize).toBe(1);
  });

  it("ends a page before it grows too large, and continues after it", async () => {
    const text = "x".repeat(250_000);
    const host = await serveA2a({
      agent: yielding({ type: "artifact", artifact: { text } }, { type: "answer", text: "" }),
    });
    for (let count = 0; count < 18; count += 1) await finish(host);
    const ids: string[] = [];
    let pageToken = "";
    do {
      const page: Page = await host.result<Page>("ListTasks", {
        includeArtifacts: true,
        ...(pageToken && { pageToken }),
      });
      // A slow host ends a page earlier.
      expect(page.tasks.length).toBeLessThanOrEqual(9);
      ids.push(...page.tasks.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect([ids.length, new Set(ids).size]).toEqual([18, 18]);
  });

  it.each([
    ["a malformed token", "nonsense"],
    [
      "the token of another listing",
      Buffer.from(JSON.stringify({ cursor: "1", total: 3 })).toString("base64url"),
    ],
    [
      "the token with a cursor of another store",
      Buffer.from(JSON.stringify({ cursor: "zz", lastAtMs: 1, lastId: "a", total: 3 })).toString(
        "base64url",
      ),
    ],
  ])("refuses %s as the page token, and names the field", async (_name, pageToken) => {
    const host = await serveA2a();
    const { error } = await host.ask("ListTasks", { pageToken });
    expect([error?.code, error?.data[1]?.fieldViolations]).toEqual([
      -32602,
      [{ field: "pageToken", description: expect.any(String) }],
    ]);
    expect(host.lines.join("")).not.toContain("store_failed");
  });

  it("offers no listing of tasks in 0.3", async () => {
    const host = await serveA2a();
    for (const method of ["ListTasks", "tasks/list"]) {
      expect((await host.ask(method, {}, { version: "0.3" })).error?.code).toBe(-32601);
    }
  });
});

describe("a restart", () => {
  it("reads, lists and continues tasks after a restart", async () => {
    const file = join(folderOfTest(), "tasks.db");
    const agent = yielding({ type: "question", prompt: "Which?" });
    const openHost = async () => {
      const database = openDatabase({ file });
      const store = createSqliteTaskStore({ database, parse: parseExecutionTask });
      return { database, host: await startA2aHost({ store, agent }) };
    };
    const firstRun = await openHost();
    const task = await finish(firstRun.host);
    await firstRun.host.close();
    await firstRun.database.close();
    const secondRun = await openHost();
    expect(await secondRun.host.result("GetTask", { id: task.id })).toEqual(task);
    expect((await secondRun.host.result<Page>("ListTasks")).tasks[0]?.id).toBe(task.id);
    const next = await finish(secondRun.host, { taskId: task.id });
    expect([next.id, next.status.state]).toEqual([task.id, "TASK_STATE_INPUT_REQUIRED"]);
    await secondRun.host.close();
    await secondRun.database.close();
  });
});

describe("an unsupported operation", () => {
  it.each([
    ["CreateTaskPushNotificationConfig", { taskId: "t", url: "https://a.example" }, -32003],
    ["GetTaskPushNotificationConfig", { taskId: "t", id: "c" }, -32003],
    ["ListTaskPushNotificationConfigs", { taskId: "t" }, -32003],
    ["DeleteTaskPushNotificationConfig", { taskId: "t", id: "c" }, -32003],
    ["GetExtendedAgentCard", undefined, -32004],
  ])("refuses the unsupported %s with the code of A2A", async (method, params, code) => {
    const host = await serveA2a();
    expect((await host.ask(method, params)).error?.code).toBe(code);
  });

  it.each([
    [
      "tasks/pushNotificationConfig/set",
      { taskId: "t", pushNotificationConfig: { url: "https://a.example" } },
      -32003,
    ],
    ["agent/getAuthenticatedExtendedCard", undefined, -32007],
  ])("refuses the unsupported %s of 0.3 with the code of A2A", async (method, params, code) => {
    const host = await serveA2a();
    expect((await host.ask(method, params, { version: "0.3" })).error?.code).toBe(code);
  });

  it("serves the extended card if it is configured", async () => {
    const skill = { id: "more", name: "More", description: "More than that.", tags: ["more"] };
    const host = await serveA2a({ config: { extendedSkills: [skill] } });
    expect(await host.result("GetExtendedAgentCard")).toMatchObject({ skills: [{}, skill] });
    const method = "agent/getAuthenticatedExtendedCard";
    expect(await host.result(method, undefined, { version: "0.3" })).toMatchObject({
      protocolVersion: "0.3.0",
      skills: [{}, skill],
    });
  });
});

type Params = Partial<OperationParams<"ListTasks">>;
type Told = Pick<ExecutionTask, "state"> & { contextId: string; changedAtMs: number };
const nowMs = 1_762_750_300_000;

async function listing(taskFields: readonly Told[], now = () => nowMs) {
  const store = memoryStore(() => nowMs);
  const records = taskFields.map(({ contextId, ...fields }, index) =>
    recordOf({
      ...fields,
      listedAtMs: fields.changedAtMs,
      id: `t${index}`,
      a2a: { contextId, messages: [] },
    }),
  );
  for (const item of records) await store.create({ item });
  const list = listTasks({
    tasks: {
      advanceIfDue: async (task) => task,
      list: ({ principal: key, cursor, limit }) =>
        store.list({ index: "principal", key, limit, ...(cursor && { cursor }) }),
    },
    pollAfterMs: 1000,
    now,
  });
  const page = (params: Params): Promise<TaskPage> => {
    const caller = { principal: "p", trace: undefined, receivedAtMs: 0 };
    const client = { openSignal: () => new AbortController().signal };
    return list({ params: operations.ListTasks.parse(params), version: "1.0", caller, client });
  };
  return { records, page };
}

const told = fc.record({
  state: fc.constantFrom("working" as const, "completed" as const),
  contextId: fc.constantFrom("a", "b"),
  changedAtMs: fc.integer({ min: nowMs - 20, max: nowMs }),
});

const filter = fc.record(
  {
    contextId: fc.constantFrom("a", "b"),
    status: fc.constantFrom("TASK_STATE_WORKING", "TASK_STATE_FAILED"),
  },
  { requiredKeys: [] },
);

describe("all pages of a listing", () => {
  it("lists all matching tasks over all pages, newest first", async () => {
    const many = fc.array(told, { maxLength: 130, size: "max" });
    await fc.assert(
      fc.asyncProperty(
        many,
        filter,
        fc.integer({ min: 1, max: 60 }),
        async (all, filter, pageSize) => {
          const { records, page } = await listing(all);
          const matching = records
            .filter(({ a2a }) => a2a?.contextId === (filter.contextId ?? a2a?.contextId))
            .filter(
              ({ state }) =>
                filter.status === undefined || filter.status.endsWith(state.toUpperCase()),
            )
            .sort((a, b) => b.changedAtMs - a.changedAtMs || (a.id < b.id ? 1 : -1));
          const listedIds: string[] = [];
          let pageToken: string | undefined;
          do {
            const { tasks, nextPageToken, totalSize } = await page({
              ...filter,
              pageSize,
              pageToken,
            } as Params);
            expect(totalSize).toBe(matching.length);
            listedIds.push(...tasks.map(({ id }) => id));
            pageToken = nextPageToken;
          } while (pageToken !== "");
          expect(listedIds).toEqual(matching.map(({ id }) => id));
        },
      ),
      { numRuns: 30 },
    );
  });

  it("limits the time to count matches, and continues the next page at the end of the last", async () => {
    const many = Array.from({ length: 100 }, () => ({
      state: "working" as const,
      contextId: "a",
      changedAtMs: nowMs,
    }));
    let readAtMs = nowMs;
    const { page } = await listing(many, () => readAtMs++);
    const first = await page({ pageSize: 2 });
    expect([first.tasks.length, first.totalSize]).toEqual([2, 100]);
    const slow = await listing(many, () => {
      readAtMs += 60;
      return readAtMs;
    });
    const some = await slow.page({ pageSize: 5 });
    expect(some.tasks).toHaveLength(5);
    expect(some.totalSize).toBeLessThan(20);
    const secondPage = await slow.page({ pageSize: 5, pageToken: some.nextPageToken });
    expect(secondPage.tasks.map(({ id }) => id)).not.toContain(some.tasks.at(-1)?.id);
    expect(secondPage.tasks).toHaveLength(5);
  });

  it("ends a page at the limit of reads, and continues the next page there", async () => {
    const others = Array.from({ length: 1010 }, () => ({
      state: "working" as const,
      contextId: "a",
      changedAtMs: nowMs,
    }));
    const { page } = await listing([
      { state: "working", contextId: "b", changedAtMs: nowMs - 1 },
      ...others,
    ]);
    const first = await page({ contextId: "b" });
    expect([first.tasks, first.totalSize, first.nextPageToken === ""]).toEqual([[], 0, false]);
    const second = await page({ contextId: "b", pageToken: first.nextPageToken });
    expect([second.tasks.map(({ id }) => id), second.nextPageToken]).toEqual([["t0"], ""]);
  });
});

describe("a listing", () => {
  it("fails lost tasks and expires unanswered questions in a listing", async () => {
    const host = await serveA2a();
    const { store } = host;
    const past = Date.now() - 100_000;
    for (const id of ["lost", "asks"]) {
      const { task } = await host.result<{ task: A2aTask }>("SendMessage", {
        message: userMessage("hi"),
      });
      const { outcome: _none, ...record } = (await store.get({ id: task.id })) as ExecutionTask;
      const waiting = {
        state: "input_required" as const,
        question: { prompt: "Which?", messageId: "q" },
        deadlineAtMs: past,
      };
      const running = { state: "working" as const, lease: { owner: "dead", untilMs: past } };
      await store.replace({ item: { ...record, ...(id === "lost" ? running : waiting) } });
    }
    const { tasks } = await host.result<TaskPage>("ListTasks");
    expect(tasks.map(({ status }) => status.state)).toEqual([
      "TASK_STATE_FAILED",
      "TASK_STATE_FAILED",
    ]);
    const none = await host.result<TaskPage>("ListTasks", { status: "TASK_STATE_WORKING" });
    expect(none.tasks).toEqual([]);
  });
});
