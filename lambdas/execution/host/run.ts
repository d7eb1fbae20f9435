/** One run of one task: the agent works, the lease is renewed, progress is stored, and the outcome is, exactly once. */
import { type ClientReason, SekishoError } from "../../../contracts/errors.ts";
import type { ExecuteTaskParams } from "../../../contracts/methods.ts";
import { backoffMs } from "../../shared/backoff.ts";
import type { Log } from "../../shared/log.ts";
import type { Sleep } from "../../shared/sleep.ts";
import { childOf } from "../../shared/trace.ts";
import type { Agent } from "../agents/agent.ts";
import type { ChangeTask } from "./change-task.ts";
import { type Change, end, renew, report } from "./changes.ts";
import { collectOutcome } from "./collect-outcome.ts";
import type { ExecutionTask, Outcome } from "./execution-task.ts";
import { createLatestWriter } from "./latest-writer.ts";

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
  now: () => number;
  sleep: Sleep;
  random: () => number;
};

/** `task` holds a lease of `owner`; `params` are the request's own, with the token that the record does not keep. */
export function startRun(
  request: RunSettings & { task: ExecutionTask; owner: string; params: ExecuteTaskParams; log: Log },
): Run {
  const { agent, changeTask, owner, params, log, leaseMs, renewMs, lostAfterMs, progressMs, now, sleep, random } =
    request;
  const startedAtMs = now();
  const agentAbort = new AbortController();
  const settled = new AbortController();
  let cause: StopCause | undefined;
  let latest = request.task;

  function stop(why: StopCause): void {
    if (cause !== undefined || settled.signal.aborted) return;
    cause = why;
    agentAbort.abort(new SekishoError(reasonsForAgents[why]));
  }

  /** Resolves to whether the record was still ours; stops the agent where it was not. */
  async function write(change: Change): Promise<boolean> {
    const { task, changed } = await changeTask({ task: latest, change });
    if (changed && task !== undefined) latest = task;
    else stop(task?.state === "canceled" ? "canceled" : "superseded");
    return changed;
  }

  function doubtedFromMs(): number {
    return (latest.lease?.untilMs ?? 0) + lostAfterMs;
  }

  async function keepLease(): Promise<void> {
    for (;;) {
      await sleep({ ms: renewMs, signal: settled.signal });
      if (settled.signal.aborted) return;
      try {
        if (!(await write(renew({ owner, untilMs: now() + leaseMs })))) return;
      } catch {
        // The store is away; others will give the task up by then.
        if (now() >= doubtedFromMs()) return stop("superseded");
      }
    }
  }

  async function keepDeadline(): Promise<void> {
    await sleep({ ms: Math.max(0, latest.deadlineAtMs - now()), signal: settled.signal });
    stop("timeout");
  }

  async function store(outcome: Outcome): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        await write(end({ owner, outcome, expiresAtMs: now() + request.retentionMs }));
        return;
      } catch {
        if (now() >= doubtedFromMs()) return log.error("outcome_not_stored");
        await sleep({ ms: backoffMs({ attempt, baseMs: 100, capMs: 2000, random }), signal: never });
      }
    }
  }

  async function run(): Promise<void> {
    const writeProgress = createLatestWriter<ExecutionTask["progress"]>({
      // A progress that is not stored is soon replaced; what ends the run shows at the next renewal.
      write: (progress) => write(report({ owner, progress })).then(noop, noop),
      intervalMs: progressMs,
      signal: settled.signal,
      sleep,
    });
    const context = {
      requestId: String(latest.requestId),
      taskId: latest.id,
      signal: agentAbort.signal,
      trace: childOf(latest.trace),
      log,
    };
    const aborted = abortOf(agentAbort.signal);
    if (now() >= latest.deadlineAtMs) stop("timeout");
    void keepLease();
    void keepDeadline();
    const collected =
      cause === undefined ? collectOutcome({ agent, task: params, context, onProgress: writeProgress }) : undefined;
    const outcome = await Promise.race([aborted, ...(collected ? [collected] : [])]);
    const final = cause === undefined ? outcome : outcomeOfStop(cause);
    settled.abort();
    if (final !== undefined) await store(final);
    const reason = final?.type === "failure" ? final.reason : cause;
    log.info("task_ended", { state: latest.state, reason, duration_ms: now() - startedAtMs });
  }

  return { stop, ended: run() };
}

const never = new AbortController().signal;

function noop(): void {}

function abortOf(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(undefined), { once: true }));
}

/** Undefined where the record already says how the task ended. */
function outcomeOfStop(cause: StopCause): Outcome | undefined {
  if (cause === "timeout") return { type: "failure", reason: "timeout" };
  if (cause === "stopped") return { type: "failure", reason: "execution_failed", lost: true };
  return undefined;
}
