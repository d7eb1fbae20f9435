/** An answer that is shown while it is written: what is kept of it, and who is woken by it. */
import { describe, expect, it } from "@jest/globals";
import { acceptedResultSchema, type TaskStep } from "@sekisho/contracts/methods.ts";
import type { Agent, TaskUpdate } from "@sekisho/execution/agents/agent.ts";
import { startAgentSpan } from "@sekisho/execution/runs/agent-span.ts";
import { isReadableUrl } from "@sekisho/execution/runs/artifact-url.ts";
import { cleanUp } from "@sekisho/execution/runs/clean-up.ts";
import { collectOutcome } from "@sekisho/execution/runs/collect-outcome.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import fc from "fast-check";
import { agentContext, agentTask } from "../agents/agent-context.ts";
import { createTestHost, eventually, hello, memoryStore, yielding } from "../test-host.ts";

const writes = (partial: string, more: object = {}): TaskUpdate => ({
  type: "progress",
  partial,
  ...more,
});

const noEnd = () => {};

/** Collects the progress that is reported after each of the updates. */
async function collectReports(...updates: TaskUpdate[]) {
  const progressReports: unknown[] = [];
  const agent = yielding(...updates);
  const onNews = ({ progress }: { progress?: unknown }) => void progressReports.push(progress);
  await collectOutcome({
    agent,
    task: agentTask(hello),
    context: agentContext(),
    isReadableUrl,
    onNews,
    endUpdates: noEnd,
  });
  return progressReports;
}

describe("the steps of an agent", () => {
  const step = (status: TaskStep["status"]): TaskStep => ({
    id: "read",
    title: "Read the log",
    status,
  });

  it("keeps steps during other progress until newer steps arrive", async () => {
    const progressReports = await collectReports(
      { type: "progress", steps: [step("in_progress")] },
      { type: "progress", text: "Line 7" },
      { type: "progress", steps: [step("completed")] },
    );
    expect(progressReports).toEqual([
      { steps: [step("in_progress")] },
      { text: "Line 7", steps: [step("in_progress")] },
      { steps: [step("completed")] },
    ]);
  });

  it("reports each step once, with its last status", async () => {
    const progressReports = await collectReports({
      type: "progress",
      steps: [step("pending"), step("completed")],
    });
    expect(progressReports).toEqual([{ steps: [step("completed")] }]);
  });

  it("reports the newest 50 steps with the first 200 characters of each title", async () => {
    const many = Array.from(
      { length: 500 },
      (_, n): TaskStep => ({ id: `s${n}`, title: "x".repeat(300), status: "pending" }),
    );
    const [report] = (await collectReports({ type: "progress", steps: many })) as [
      { steps: TaskStep[] },
    ];
    expect(report.steps.map(({ id }) => id)).toEqual(many.slice(-50).map(({ id }) => id));
    expect(report.steps.map(({ title }) => title.length)).toEqual(
      Array.from({ length: 50 }, () => 200),
    );
  });

  it.each([
    [
      "another status",
      { id: "b", title: "B", status: "complete" },
      "update.steps.status: invalid_value",
    ],
    ["no title", { id: "b", title: "", status: "pending" }, "update.steps.title: too_small"],
    ["a string in its place", "b", "update.steps: invalid_type"],
  ])(
    "leaves out and logs a step with %s, and reports the others",
    async (_what, brokenStep, cause_kind) => {
      const update = {
        type: "progress",
        steps: [step("pending"), brokenStep],
      } as unknown as TaskUpdate;
      const { reports, logged, turn } = await collect([
        update,
        update,
        { type: "answer", text: "done" },
      ]);
      expect(reports).toEqual([{ steps: [step("pending")] }, { steps: [step("pending")] }]);
      expect(logged).toEqual([
        expect.objectContaining({ message: "agent_progress_left_out", cause_kind }),
      ]);
      expect(turn.end).toMatchObject({ type: "success", text: "done" });
    },
  );
});

describe("an answer that its record cannot hold", () => {
  it("reports payload_too_large when an answer and its artifacts together exceed the record", async () => {
    const artifact = { name: "a.txt", text: "x".repeat(200_000) };
    // Each takes six bytes of JSON.
    const text = `x${"\u0001".repeat(50_000)}`;
    const artifactUpdate: TaskUpdate = { type: "artifact", artifact };
    const whole = await collect([artifactUpdate, { type: "answer", text }]);
    expect(whole.turn.end).toEqual({ type: "failure", reason: "payload_too_large" });
    expect((await collect([{ type: "answer", text }])).turn.end).toMatchObject({
      type: "success",
    });
    const short = await collect([artifactUpdate, { type: "answer", text: "x" }]);
    expect(short.turn.end).toMatchObject({ type: "success" });
  });
});

/** Collects the updates of an agent. */
async function collect(updates: readonly TaskUpdate[]) {
  return collectFrom(yielding(...updates));
}

async function collectFrom(agent: Agent) {
  const [reports, lines]: [unknown[], string[]] = [[], []];
  let cleaned: Promise<void> | undefined;
  const log = createLog({ service: "execution", write: (line) => void lines.push(line) });
  const turn = await collectOutcome({
    ...{ agent, task: agentTask(hello), context: { ...agentContext(), log }, isReadableUrl },
    onNews: ({ progress }) => void reports.push(progress),
    endUpdates: (updates) => (cleaned = cleanUp({ updates, log })),
  });
  const readLog = () => lines.map((line) => JSON.parse(line));
  return {
    turn,
    reports,
    logged: readLog(),
    loggedLater: () => Promise.resolve(cleaned).then(readLog),
  };
}

describe("progress with a malformed member", () => {
  it.each([
    ["percent", Number.NaN],
    ["percent", null],
    ["percent", "50"],
    ["text", 7],
    ["partial", { text: "The" }],
    ["steps", "read"],
  ])("leaves out a broken member of progress: %s %p", async (name, value) => {
    const update = { type: "progress", text: "Reading", [name]: value } as unknown as TaskUpdate;
    const { reports, turn } = await collect([update, { type: "answer", text: "done" }]);
    expect(reports).toEqual([name === "text" ? {} : { text: "Reading" }]);
    expect(turn.end).toMatchObject({ type: "success", text: "done" });
  });

  it.each([
    ["an answer", { type: "answer", text: 7 }],
    ["a question", { type: "question", prompt: "" }],
    ["an artifact", { type: "artifact", artifact: { name: "a" } }],
    ["an unknown type", { type: "steps", steps: [] }],
  ])("fails the task for a malformed update: %s", async (_what, update) => {
    const { turn } = await collect([
      update as unknown as TaskUpdate,
      { type: "answer", text: "done" },
    ]);
    expect(turn.end).toEqual({ type: "failure", reason: "execution_failed" });
  });
});

describe("an agent that cleans up after its answer", () => {
  const answering = (
    cleanUp: () => unknown,
    last: TaskUpdate = { type: "answer", text: "done" },
  ): Agent =>
    async function* () {
      try {
        yield last;
      } finally {
        await cleanUp();
      }
    };

  it("accepts an answer whether the cleanup of the agent works, throws or never ends", async () => {
    let cleanUps = 0;
    const works = await collectFrom(answering(() => (cleanUps += 1)));
    expect({ end: works.turn.end, logged: await works.loggedLater(), cleanUps }).toEqual({
      end: { type: "success", text: "done" },
      logged: [],
      cleanUps: 1,
    });
    const throws = await collectFrom(
      answering(() => Promise.reject(new TypeError("closed twice"))),
    );
    expect(throws.turn.end).toEqual({ type: "success", text: "done" });
    expect(await throws.loggedLater()).toEqual([
      expect.objectContaining({
        level: "warn",
        message: "agent_cleanup_failed",
        cause_kind: "TypeError",
      }),
    ]);
    const hangs = await collectFrom(answering(() => new Promise(() => {})));
    expect(hangs.turn.end).toEqual({ type: "success", text: "done" });
    expect(await hangs.loggedLater()).toEqual([
      expect.objectContaining({ message: "agent_cleanup_failed", cause_kind: "CleanUpTimeout" }),
    ]);
  });

  it("accepts a question although the cleanup of the agent throws", async () => {
    const question: TaskUpdate = { type: "question", prompt: "Shall I?" };
    const { turn } = await collectFrom(
      answering(() => Promise.reject(new Error("closed")), question),
    );
    expect(turn.end).toEqual(question);
  });
});

describe("an answer in progress", () => {
  it("keeps a partial answer during other progress until more of it arrives", async () => {
    const progressReports = await collectReports(
      { type: "progress", text: "Reading", percent: 10 },
      writes("The"),
      { type: "progress", text: "Reading again" },
      writes("The answer", { text: "Writing" }),
      writes(""),
    );
    expect(progressReports).toEqual([
      { text: "Reading", percent: 10 },
      { partial_text: "The" },
      { text: "Reading again", partial_text: "The" },
      { text: "Writing", partial_text: "The answer" },
      { partial_text: "" },
    ]);
  });

  it("cuts a partial answer at 12,000 characters without splitting a character", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 11_990, max: 12_010 }),
        fc.integer({ min: 0, max: 5 }),
        async (plain, cut) => {
          const whole = `${"x".repeat(plain)}🏯🏯🏯`;
          const [progress] = await collectReports(writes(whole.slice(0, whole.length - cut)));
          const partialText =
            acceptedResultSchema.shape.progress.parse(progress)?.partial_text ?? "";
          expect(whole.startsWith(partialText)).toBe(true);
          expect(partialText.isWellFormed()).toBe(true);
          expect(partialText.length).toBeGreaterThanOrEqual(
            Math.min(11_999, whole.length - cut - 1),
          );
          expect(partialText.length).toBeLessThanOrEqual(12_000);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("wakes held polls when a partial answer grows, and removes it when the task ends", async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const agent: Agent = async function* () {
      yield writes("The");
      await gates[0]?.promise;
      yield writes("The answer");
      await gates[1]?.promise;
      yield { type: "answer", text: "The answer is 42." };
    };
    const store = memoryStore();
    const { call } = createTestHost({ agent, store, syncBudgetMs: 0, progressMs: 1 });
    const { task_id } = (await call("execute_task", hello)).result ?? {};
    await eventually(async () => (await store.get({ id: task_id ?? "" }))?.progress !== undefined);
    const waiting = call("get_task", { task_id, wait_ms: 25_000 });
    gates[0]?.resolve();
    expect((await waiting).result).toMatchObject({
      status: "accepted",
      progress: { partial_text: "The answer" },
    });
    gates[1]?.resolve();
    const end = await call("get_task", { task_id, wait_ms: 25_000 });
    expect(end.result).toMatchObject({ status: "success", response_text: "The answer is 42." });
    expect(JSON.stringify(await store.get({ id: task_id ?? "" }))).not.toContain("partial_text");
  });

  it("drops a partial answer that does not fit into the record", async () => {
    // As JSON each of these characters takes six bytes.
    const escapes = (count: number) => "\u0001".repeat(count);
    const { promise, resolve } = Promise.withResolvers<void>();
    const agent: Agent = async function* ({ answers }) {
      if (answers.length === 0) yield { type: "question", prompt: "More?" };
      yield writes(escapes(12_000), { text: "nearly" });
      await promise;
      yield { type: "answer", text: "done" };
    };
    const { call } = createTestHost({ agent, progressMs: 1 });
    const { task_id } =
      (await call("execute_task", { ...hello, text: escapes(30_000) })).result ?? {};
    await call("answer_task", { task_id, text: `a${escapes(25_000)}` });
    const look = async () => (await call("get_task", { task_id })).result?.progress;
    await eventually(async () => (await look())?.text === "nearly");
    expect(await look()).toEqual({ text: "nearly" });
    resolve();
    expect((await call("get_task", { task_id, wait_ms: 10_000 })).result?.response_text).toBe(
      "done",
    );
  });
});

const task = { id: "t", requestId: "00000001-0000-5000-8000-000000000000", trace: createTrace() };
const conversationOf = (contextId: string | undefined) =>
  startAgentSpan({ agentName: "echo", task, contextId }).attributes?.["gen_ai.conversation.id"];

describe("the span of an agent's turn", () => {
  it("names the conversation in the span of the agent", () => {
    const id = "00000002-0000-8000-8000-000000000000";
    expect(conversationOf(id)).toBe(id);
  });

  it("names no conversation in the span if the caller named no session", () => {
    expect(conversationOf(undefined)).toBeUndefined();
  });
});

describe("an empty answer", () => {
  const artifact = { name: "a.txt", text: "a" };
  it.each([
    ["a blank text", yielding({ type: "answer", text: " \n" }), "failure"],
    ["only invisible characters", yielding({ type: "answer", text: "\u200b\u2060" }), "failure"],
    [
      "a blank text beside a file",
      yielding({ type: "artifact", artifact }, { type: "answer", text: "" }),
      "success",
    ],
    ["a text", yielding({ type: "answer", text: "a" }), "success"],
  ] as const)("decides whether an answer is visible: %s", async (_what, agent, type) => {
    const { end } = (await collectFrom(agent)).turn;
    expect(end).toMatchObject(type === "failure" ? { type, reason: "execution_failed" } : { type });
  });
});
