/** Votes of people on an answer: they are stored with the task and passed to the agent's own function `feedback`. */
import { describe, expect, it } from "@jest/globals";
import { type Agent, type AgentVote, withFeedback } from "@sekisho/execution/agents/agent.ts";
import { createExecutionWorker } from "@sekisho/execution/execution-worker.ts";
import { handleExecutionBatches } from "@sekisho/execution/handlers/worker-handler.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createSqsEvent } from "../../doubles/aws/sqs-event.ts";
import { createQueuedHost } from "../runs/queued-host.ts";
import { answering, createGate, createTestHost, hello, memoryStore } from "../test-host.ts";

const requestId = "4c2f4fea-0f0b-4d6e-9a53-2f1b6e1f7a10";
const up = { vote: "up", voter_id: "v1", voted_at: "2026-11-26T08:00:00Z" };
const down = { vote: "down", voter_id: "v1", voted_at: "2026-11-26T08:00:01Z" };

/** A completed task, and the votes that its agent gets. */
async function completeTask({ fails }: { fails: () => boolean } = { fails: () => false }) {
  const receivedVotes: AgentVote[] = [];
  const agent = withFeedback(answering("done"), (vote: AgentVote) => {
    if (fails()) throw new Error("hunter2");
    receivedVotes.push(vote);
  });
  const test = createTestHost({ agent });
  await test.call("execute_task", hello, { id: requestId });
  const vote = (params: Record<string, unknown>) =>
    test.call("feedback", { request_id: requestId, ...params });
  const readVotes = async () => {
    const [task] = (await test.store.list({ index: "state", key: "completed", limit: 1 })).items;
    return task?.votes;
  };
  return { ...test, got: receivedVotes, vote, stored: readVotes };
}

describe("a vote", () => {
  it("stores a vote and passes it to the agent with the ids of the run", async () => {
    const { vote, stored, got } = await completeTask();
    const { result } = await vote(up);
    expect(result).toEqual({ status: "recorded", task_id: expect.any(String) });
    expect(await stored()).toEqual([{ voterId: "v1", vote: "up", atMs: Date.parse(up.voted_at) }]);
    expect(got).toEqual([
      { vote: "up", voterId: "v1", requestId, taskId: result?.task_id, caller: expect.any(String) },
    ]);
  });

  it("replaces an earlier vote of the same person and ignores an older one that arrives late", async () => {
    const { vote, stored, got } = await completeTask();
    for (const voteFields of [up, down, up])
      expect((await vote(voteFields)).result?.status).toBe("recorded");
    expect(await stored()).toMatchObject([{ voterId: "v1", vote: "down" }]);
    expect(got.map(({ vote: choice }) => choice)).toEqual(["up", "down", "down"]);
  });

  it("answers unavailable when the agent fails on a vote, and passes the vote on when it is repeated", async () => {
    let isBroken = true;
    const { vote, got, lines } = await completeTask({ fails: () => isBroken });
    expect((await vote(up)).error?.data).toMatchObject({ reason: "unavailable", retryable: true });
    expect(lines.join("")).toContain("agent_feedback_failed");
    expect(lines.join("")).not.toContain("hunter2");
    isBroken = false;
    await vote(up);
    expect(got).toHaveLength(1);
  });

  it("records a vote for an agent without feedback", async () => {
    const { call } = createTestHost();
    const { result } = await call("execute_task", hello, { id: requestId });
    expect(result?.response_text).toBe("done");
    expect((await call("feedback", { request_id: requestId, ...up })).result?.status).toBe(
      "recorded",
    );
  });

  it("refuses a vote on a task that is not completed", async () => {
    const gate = createGate();
    const { call } = createTestHost({ agent: gate.agent, syncBudgetMs: 0 });
    await call("execute_task", hello, { id: requestId });
    await gate.firstStart;
    const { error } = await call("feedback", { request_id: requestId, ...up });
    expect(error?.data).toMatchObject({ reason: "invalid_state", current: "working" });
    gate.letGo();
  });

  it("refuses a vote on an unknown task", async () => {
    const { call } = createTestHost();
    expect((await call("feedback", { request_id: requestId, ...up })).error?.data.reason).toBe(
      "task_not_found",
    );
  });
});

it("passes a vote to the worker's agent when the host runs no agent", async () => {
  const store = memoryStore();
  const host = createQueuedHost({ store, syncBudgetMs: 0 });
  const receivedVotes: AgentVote[] = [];
  const agent: Agent = withFeedback(answering("done"), (vote: AgentVote) =>
    receivedVotes.push(vote),
  );
  const worker = createExecutionWorker({ store, agent, log: silentLog });
  const handler = handleExecutionBatches({ worker, log: silentLog });
  const context = { getRemainingTimeInMillis: () => 900_000 };
  await host.call("execute_task", hello, { id: requestId });
  await handler(createSqsEvent(host.sent.splice(0)), context);
  expect((await host.call("feedback", { request_id: requestId, ...up })).result?.status).toBe(
    "recorded",
  );
  expect(await handler(createSqsEvent(host.sent), context)).toEqual({ batchItemFailures: [] });
  expect(receivedVotes).toMatchObject([{ vote: "up", voterId: "v1", requestId }]);
});
