/** The Execution host: takes JSON-RPC requests, runs the agent at most once a task, and answers for it from the store. */
import { randomUUID } from "node:crypto";
import type { Dialect } from "../../../contracts/dialects.ts";
import { maxRequestBytes as contractMaxRequestBytes } from "../../../contracts/methods.ts";
import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import { type Log, silentLog } from "../../shared/log.ts";
import type { PublicFetch } from "../../shared/public-fetch/public-fetch.ts";
import { noTelemetry, type ProcessTelemetry, type Telemetry } from "../../shared/telemetry/telemetry.ts";
import type { Agent } from "../agents/agent.ts";
import { createLookAfter } from "./a2a/look-after.ts";
import { type A2aSettings, openA2a } from "./a2a/open-a2a.ts";
import { createPushOutbox } from "./a2a/push-outbox.ts";
import type { Authenticator } from "./authenticator/authenticator.ts";
import { createBell } from "./bell.ts";
import { createChangeTask } from "./change-task.ts";
import { createCompletionPush } from "./completion-push.ts";
import { createDispatch } from "./dispatch.ts";
import type { Exchange, ExchangeResponse } from "./exchange.ts";
import type { ExecutionTask } from "./execution-task.ts";
import { guardedStore } from "./guarded-store.ts";
import { answerTask } from "./methods/answer-task.ts";
import { cancelTask } from "./methods/cancel-task.ts";
import { discover } from "./methods/discover.ts";
import { executeTask } from "./methods/execute-task.ts";
import { getTask } from "./methods/get-task.ts";
import { createQueuedRuns } from "./queued-runs.ts";
import { createRoutes } from "./routes.ts";
import { runDefaults } from "./run-defaults.ts";
import { createRuns } from "./runs.ts";
import { createTasks } from "./tasks.ts";
import { createTendTask } from "./tend-task.ts";
import { createTimeLimit } from "./time-limit.ts";
import { webHandler } from "./web.ts";

type HostSettings = {
  store: TaskStore<ExecutionTask>;
  authenticator: Authenticator;
  /** Where the ends of accepted tasks are pushed to; without it clients poll. */
  completions?: TaskQueue | undefined;
  /** As an A2A agent; without it nothing of A2A is served. */
  a2a?: A2aSettings | undefined;
  /** Further paths of the zone contract, and the dialect in which errors are written there. */
  dialects?: Readonly<Record<string, Dialect>>;
  /** How long `execute_task` waits for the result itself. */
  syncBudgetMs?: number;
  /** The longest that a task may work, and what it may where the request says nothing. */
  maxTaskMs?: number;
  /** Who runs a task holds it that long, and renews at half of it. */
  leaseMs?: number;
  renewMs?: number;
  /** So long after a lapsed lease a running task counts as lost. */
  lostAfterMs?: number;
  /** How long a task is known after its end. */
  retentionMs?: number;
  /** How long a question may wait for its answer: a day by default, `retentionMs` at most. It is none of the task's own time. */
  questionMs?: number;
  /** Progress is stored at most that often. */
  progressMs?: number;
  maxRequestBytes?: number;
  bodyTimeoutMs?: number;
  storeTimeoutMs?: number;
  /** What `accepted` advises. */
  pollAfterMs?: number;
  log?: Log;
  /** With an exposition, metrics are served to whoever may call. */
  telemetry?: (Telemetry & Partial<Pick<ProcessTelemetry, "exposition">>) | undefined;
  now?: () => number;
  newId?: () => string;
  random?: () => number;
};

/**
 * Tasks run here, or their ids go to the queue that an Execution worker receives from. `agentName` is for log lines,
 * `publicFetch` is how attachments are read where not from public addresses alone.
 */
export type HostOptions = HostSettings &
  ({ agent: Agent; agentName?: string; publicFetch?: PublicFetch } | { taskQueue: TaskQueue });

export type Host = {
  handle(request: Request): Promise<Response>;
  /** The same below the web-standard rim, for a server that has no Request at hand. */
  exchange(exchange: Exchange): Promise<ExchangeResponse>;
  /** How callers prove who they are, which decides where a server may listen. */
  authenticatorKind: Authenticator["kind"];
  /** Whether any agent is at work. */
  busy(): boolean;
  /**
   * Takes no new task, gives running ones `graceMs` to end, then stops their agents and stores them as lost.
   * Tasks can be read until the end of the process.
   */
  stop(request: { graceMs: number }): Promise<void>;
};

/** The agent of a canceled, late or stopped task is told by its signal; its outcome is stored without waiting for it. */
export function createHost({
  store,
  authenticator,
  completions,
  a2a,
  dialects = {},
  syncBudgetMs = runDefaults.syncBudgetMs,
  maxTaskMs = 8 * 3600_000,
  leaseMs = runDefaults.leaseMs,
  renewMs = leaseMs / 2,
  lostAfterMs = runDefaults.lostAfterMs,
  retentionMs = runDefaults.retentionMs,
  questionMs = runDefaults.questionMs,
  progressMs = runDefaults.progressMs,
  maxRequestBytes = contractMaxRequestBytes,
  bodyTimeoutMs = 10_000,
  storeTimeoutMs = runDefaults.storeTimeoutMs,
  pollAfterMs = runDefaults.pollAfterMs,
  log = silentLog,
  telemetry = noTelemetry,
  now = Date.now,
  newId = randomUUID,
  random = Math.random,
  ...work
}: HostOptions): Host {
  let isStopping = false;
  let isStopped = false;
  const guarded = guardedStore({ store, timeoutMs: storeTimeoutMs, log });
  const bell = createBell();
  const push = createCompletionPush({ queue: completions, syncBudgetMs, now, log });
  const { notifications: queue, unstartedAfterMs } = a2a ?? {};
  const outbox = queue && createPushOutbox({ queue, lostAfterMs, unstartedAfterMs, now, log });
  const pushed = push.after(createChangeTask({ store: guarded, bell, now }));
  const changeTask = outbox?.after(pushed) ?? pushed;
  const { metrics, spans, exposition } = telemetry;
  const common = { changeTask, lostAfterMs, retentionMs, now, newId, metrics, spans, log };
  const agentDefaults = { agentName: "agent", leaseMs, renewMs, progressMs, questionMs, random };
  const runs =
    "taskQueue" in work
      ? createQueuedRuns({ ...common, ...work, timeoutMs: storeTimeoutMs })
      : createRuns({ ...common, ...agentDefaults, ...work });
  const tend = createTendTask({ ...common, runs });
  if (outbox) a2a?.offerLook?.(createLookAfter({ store: guarded, tend, outbox }));
  const kept = outbox?.before(guarded) ?? guarded;
  const tasks = createTasks({ ...common, store: kept, runs, bell, tend, maxTaskMs, isStopped: () => isStopped });
  const waiting = { tasks, syncBudgetMs, pollAfterMs, isStopping: () => isStopping };
  const methods = {
    execute_task: executeTask(waiting),
    get_task: getTask({ tasks, pollAfterMs }),
    cancel_task: cancelTask({ tasks }),
    answer_task: answerTask({ tasks, pollAfterMs, newId }),
    "rpc.discover": discover(),
  };
  const busy = () => runs.count() > 0;
  const dispatch = createDispatch({ methods, metrics, log });
  const bodyTime = createTimeLimit({ ms: bodyTimeoutMs, reason: "unavailable" });
  const a2aRoutes = a2a && openA2a({ ...a2a, ...waiting, outbox, newId, metrics, log });
  const limits = { maxRequestBytes, bodyTime, metrics, spans, exposition };
  const exchange = createRoutes({ dispatch, a2a: a2aRoutes, dialects, authenticator, busy, ...limits, now, log });
  return {
    handle: webHandler(exchange),
    exchange,
    authenticatorKind: authenticator.kind,
    busy,
    async stop({ graceMs }) {
      isStopping = true;
      await runs.stopAll({ graceMs, settleMs: storeTimeoutMs });
      isStopped = true;
      await push.settled();
    },
  };
}
