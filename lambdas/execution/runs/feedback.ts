/** Passes a person's vote on an answer to the agent. The task's record has the vote already. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createTimeLimit } from "@sekisho/runtime/async/time-limit.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Agent } from "../agents/agent.ts";
import { createLogIds, deriveCallerId, type ExecutionTask } from "../tasks/execution-task.ts";
import { deriveCallerGroup, encodeExecutionMessage } from "../tasks/task-message.ts";
import { runAsAgent } from "./uncaught-errors.ts";

/** Rejects with `unavailable` if the agent does not have the vote. A repetition then passes it on again. */
export type PassVote = (request: { task: ExecutionTask; voterId: string }) => Promise<void>;

/** A vote is small, so an agent that takes longer has a problem. */
const agentTimeoutMs = 10_000;

/** Calls the agent's own function `feedback`. Does nothing for an agent without one. */
export function createPassVote({ agent: { feedback }, log }: { agent: Agent; log: Log }): PassVote {
  const withinTime = createTimeLimit({ ms: agentTimeoutMs, reason: "timeout" });
  return async ({ task, voterId }) => {
    const storedVote = task.votes?.find((one) => one.voterId === voterId);
    if (feedback === undefined || storedVote === undefined) return;
    const { id: taskId, requestId, principal, agent } = task;
    const ids = { requestId: String(requestId), taskId, caller: deriveCallerId(principal), agent };
    try {
      const agentPromise = runAsAgent(log, () =>
        feedback({ vote: storedVote.vote, voterId, ...ids }),
      );
      await withinTime(Promise.resolve(agentPromise));
    } catch (error) {
      log.error("agent_feedback_failed", { ...createLogIds(task), cause_kind: errorKind(error) });
      throw new SekishoError("unavailable", { cause: error });
    }
  };
}

/** Leaves the vote to the worker, which has the agent. */
export function createQueueVote({
  taskQueue,
  timeoutMs,
}: {
  taskQueue: TaskQueue;
  timeoutMs: number;
}): PassVote {
  const withinTime = createTimeLimit({ ms: timeoutMs, reason: "unavailable" });
  return async ({ task, voterId }) => {
    const body = encodeExecutionMessage({ vote: { taskId: task.id, voterId } });
    await withinTime(taskQueue.send({ body, group: deriveCallerGroup(task) })).catch(
      (cause: unknown) => {
        throw new SekishoError("unavailable", { cause });
      },
    );
  };
}
