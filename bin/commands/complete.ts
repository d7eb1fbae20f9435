/** One task from the command line: sent, polled until it is over, and canceled where nobody waits for it any longer. */
import { randomUUID } from "node:crypto";
import { SekishoError } from "../../contracts/errors.ts";
import type { TaskResult } from "../../contracts/methods.ts";
import { newTrace } from "../../lambdas/shared/trace.ts";
import type { ExecutionClient } from "../../lambdas/verification/transport/client.ts";

/** How long the host may hold one `get_task`. */
const longestWaitMs = 10_000;
const cancelTimeoutMs = 3000;

type Completion = {
  client: ExecutionClient;
  callTimeoutMs: number;
  text: string;
  /** By which the task is known there. */
  requestId?: string;
  /** What the host is told that the task may take. */
  deadlineMs: number;
  /** So long after the deadline the host's word is waited for; then the task ends as `timeout` here. */
  graceMs?: number;
  signal: AbortSignal;
  note(text: string): void;
  /** The task is there now, whatever becomes of the calls that ask for its result. */
  onAccepted?: (taskId: string) => void;
};

/** Rejects with a SekishoError when the task failed, and with whatever the call says when the signal aborts. */
export async function complete({
  client,
  callTimeoutMs,
  text,
  requestId = randomUUID(),
  deadlineMs,
  graceMs = 15_000,
  signal: interrupt,
  note,
  onAccepted = () => {},
}: Completion): Promise<Exclude<TaskResult, { status: "accepted" }>> {
  const sessionId = `cli-${requestId}`;
  const tooLate = AbortSignal.timeout(deadlineMs + graceMs);
  const signal = AbortSignal.any([interrupt, tooLate]);
  const call = { requestId, sessionId, timeoutMs: callTimeoutMs, trace: newTrace() };
  const params = { channel: "cli", text, correlation_id: requestId, session_id: sessionId, timeout_ms: deadlineMs };
  const wait_ms = Math.floor(Math.min(longestWaitMs, callTimeoutMs / 2));
  try {
    let result = await client.call({ method: "execute_task", params, id: requestId, signal, ...call });
    let shown = "";
    while (result.status === "accepted") {
      const { task_id, progress } = result;
      onAccepted(task_id);
      const line = [progress?.text, progress?.percent === undefined ? undefined : `${progress.percent} %`]
        .filter(Boolean)
        .join(" ");
      if (shown === "" || (line !== "" && line !== shown)) note(line || "Accepted; waiting for the result.");
      shown = line || shown || " ";
      const poll = { method: "get_task", params: { task_id, wait_ms }, id: randomUUID() } as const;
      result = await client.call({ ...poll, signal, ...call });
    }
    return result;
  } catch (thrown) {
    if (signal.aborted) {
      const cancel = { method: "cancel_task", params: { request_id: requestId }, id: randomUUID() } as const;
      await client.call({ ...cancel, ...call, timeoutMs: cancelTimeoutMs }).catch(() => {});
    }
    throw tooLate.aborted && !interrupt.aborted ? new SekishoError("timeout", { cause: thrown }) : thrown;
  }
}
