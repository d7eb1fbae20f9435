/** One run of one task: the agent works, the lease is renewed, progress is stored, and the outcome is, exactly once. */
import { setTimeout as sleep } from "node:timers/promises";
import { type ClientReason, SekishoError } from "../../../contracts/errors.ts";
import type { ExecuteTaskParams } from "../../../contracts/methods.ts";
import { backoffMs } from "../../shared/backoff.ts";
import type { Log } from "../../shared/log.ts";
import { createPublicFetch, type PublicFetch } from "../../shared/public-fetch/public-fetch.ts";
import type { Agent } from "../agents/agent.ts";
import type { ChangeTask } from "./change-task.ts";
import { type Change, end, renew, report } from "./changes.ts";
import { collectOutcome } from "./collect-outcome.ts";
import type { ExecutionTask, Outcome } from "./execution-task.ts";
import { createLatestWriter } from "./latest-writer.ts";
import { createReadAttachment } from "./read-attachment.ts";

/** Why an agent is told to stop before its end. `superseded`: the record is no longer ours to write. */
export type StopCause = "timeout" | "canceled" | "stopped" | "superseded";

const reasonsForAgents: Record<StopCause, ClientReason> = {
  timeout: "timeout",
  canceled: "canceled",
  stopped: "unavailable",
  superseded: "canceled",
};

export type Run = {
  stop(cause: StopCause): void;
  /** Resolves when the outcome is stored, or is known not to be ours to store. Never rejects. */
  ended: Promise<void>;
};

export type RunSettings = {
  agent: Agent;
  changeTask: ChangeTask;
  leaseMs: number;
  renewMs: number;
  lostAfterMs: number;
  retentionMs: number;
  progressMs: number;
  /** How attachments are read, where not from public addresses alone. */
  publicFetch?: PublicFetch;
  now: () => number;
  random: () => number;
};

/** `task` holds a lease of `owner`; `params` are the request's own, with the token that the record does not keep. */
export function startRun(
  request: RunSettings & { task: ExecutionTask; owner: string; params: ExecuteTaskParams; log: Log },
): Run {
  const { agent, changeTask, owner, params, log, leaseMs, renewMs, lostAfterMs, retentionMs, progressMs, now, random } =
    request;
  const { publicFetch = createPublicFetch() } = request;
  const startedAtMs = now();
  const abort = new AbortController();
  const { promise: stopped, resolve: resolveStopped } = Promise.withResolvers<undefined>();
  const progress = createLatestWriter<ExecutionTask["progress"]>({
    // A progress that is not stored is soon replaced; what ends the run shows at the next renewal.
    write: (value) => write(report({ owner, progress: value })).then(noop, noop),
    intervalMs: progressMs,
  });
  let cause: StopCause | undefined;
  let isSettled = false;
  let latest = request.task;
  let renewTimer = setTimeout(keepLease, renewMs);
  const deadlineTimer = setTimeout(() => stop("timeout"), Math.max(0, latest.deadlineAtMs - startedAtMs));

  function stop(why: StopCause): void {
    if (cause !== undefined || isSettled) return;
    cause = why;
    resolveStopped(undefined);
    abort.abort(new SekishoError(reasonsForAgents[why]));
  }

  function settle(): void {
    isSettled = true;
    clearTimeout(renewTimer);
    clearTimeout(deadlineTimer);
    progress.close();
  }

  /** Stops the agent where the record is no longer ours. */
  async function write(change: Change): Promise<void> {
    const { task, changed } = await changeTask({ task: latest, change });
    if (changed && task !== undefined) latest = task;
    else stop(task?.state === "canceled" ? "canceled" : "superseded");
  }

  function doubtedFromMs(): number {
    return (latest.lease?.untilMs ?? 0) + lostAfterMs;
  }

  async function keepLease(): Promise<void> {
    try {
      await write(renew({ owner, untilMs: now() + leaseMs }));
    } catch {
      // The store is away; others will give the task up by then.
      if (now() >= doubtedFromMs()) stop("superseded");
    }
    if (!isSettled) renewTimer = setTimeout(keepLease, renewMs);
  }

  async function store(outcome: Outcome): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await write(end({ owner, outcome, expiresAtMs: now() + retentionMs }));
      } catch {
        if (now() >= doubtedFromMs()) return log.error("outcome_not_stored");
        await sleep(backoffMs({ attempt, baseMs: 100, capMs: 2000, random }));
      }
    }
  }

  async function run(): Promise<void> {
    const { requestId, id: taskId, trace, deadlineAtMs } = latest;
    const { signal } = abort;
    const readAttachment = createReadAttachment({ publicFetch, signal, log });
    const context = { requestId: String(requestId), taskId, signal, readAttachment, trace, log };
    if (startedAtMs >= deadlineAtMs) stop("timeout");
    const collect = () => collectOutcome({ agent, task: params, context, onProgress: progress.put });
    const outcome = cause === undefined ? await Promise.race([collect(), stopped]) : undefined;
    const final = cause === undefined ? outcome : outcomeOfStop(cause);
    settle();
    if (final !== undefined) await store(final);
    const reason = final?.type === "failure" ? final.reason : cause;
    log.info("task_ended", { state: latest.state, reason, duration_ms: now() - startedAtMs });
  }

  return { stop, ended: run() };
}

function noop(): void {}

/** Undefined where the record already says how the task ended. */
function outcomeOfStop(cause: StopCause): Outcome | undefined {
  if (cause === "timeout") return { type: "failure", reason: "timeout" };
  if (cause === "stopped") return { type: "failure", reason: "execution_failed", lost: true };
  return undefined;
}
