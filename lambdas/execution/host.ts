/** The Execution host: takes JSON-RPC requests, runs the agent at most once a task, and answers for it from the store. */
import { randomUUID } from "node:crypto";
import type { Dialect } from "../../contracts/dialects.ts";
import { maxRequestBytes as contractMaxRequestBytes } from "../../contracts/methods.ts";
import type { TaskQueue, TaskStore } from "../shared/engine/ports.ts";
import { type Log, silentLog } from "../shared/log.ts";
import type { PublicFetch } from "../shared/public-fetch/public-fetch.ts";
import { noTelemetry, type ProcessTelemetry, type Telemetry } from "../shared/telemetry/telemetry.ts";
import { type A2aSettings, openA2a } from "./a2a/open-a2a.ts";
import { createHandleLook, createPushOutbox, type HandleLook } from "./a2a/push-outbox.ts";
import type { Agent } from "./agents/agent.ts";
import {
  type Authenticator,
  createAdmitCaller,
  createRunSlots,
  type Exchange,
  type ExchangeResponse,
} from "./http/exchange.ts";
import { createRoutes, createWebHandler } from "./http/routes.ts";
import {
  createAnswerTaskHandler,
  createCancelTaskHandler,
  createDiscoverHandler,
  createDispatch,
  createExecuteTaskHandler,
  createGetTaskHandler,
} from "./methods/methods.ts";
import { createAdvanceIfDue, createLifetime, createQueuedRuns, createRuns, endlessLifetime } from "./runs/runs.ts";
import { createTimeLimit } from "./runs/time-limit.ts";
import { createCompletionPush } from "./tasks/completion-push.ts";
import { type ExecutionTask, runDefaults } from "./tasks/execution-task.ts";
import { createChangeTask, createGuardedStore, createTaskSignal } from "./tasks/task-store.ts";
import { createTasks } from "./tasks/tasks.ts";

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
  /** How long the platform lets this process live from now on. A task that may take longer is refused with `session_ending`. */
  processLeftMs?: () => number;
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
  /** The most that one caller may have in this process at once. */
  limits?: { runsPerCaller: number; openCallsPerCaller: number } | undefined;
  /**
   * Whose calls may be held open until something changes; everybody's by default. Set it where a held call takes what other
   * callers need and `limits` cannot count it, as on Lambda: each instance sees one call at a time.
   */
  mayWait?: (principal: string) => boolean;
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
  /** Looks after tasks whose callers wait for notifications: for what consumes `a2a.notifications`. Absent without that. */
  lookAfter?: HandleLook | undefined;
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
  processLeftMs,
  leaseMs = runDefaults.leaseMs,
  renewMs = leaseMs / 2,
  lostAfterMs = runDefaults.lostAfterMs,
  retentionMs = runDefaults.retentionMs,
  questionMs = runDefaults.questionMs,
  progressMs = runDefaults.progressMs,
  limits: { runsPerCaller, openCallsPerCaller } = runDefaults.limits,
  mayWait,
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
  const guarded = createGuardedStore({ store, timeoutMs: storeTimeoutMs, log });
  const changeSignal = createTaskSignal();
  const push = createCompletionPush({ queue: completions, syncBudgetMs, now, log });
  const { notifications: queue, unstartedAfterMs } = a2a ?? {};
  const outbox = queue && createPushOutbox({ queue, lostAfterMs, unstartedAfterMs, now, log });
  const pushed = push.after(createChangeTask({ store: guarded, changeSignal, now }));
  const changeTask = outbox?.after(pushed) ?? pushed;
  const { metrics, spans, exposition } = telemetry;
  const lifetime = processLeftMs === undefined ? endlessLifetime : createLifetime({ processLeftMs, now });
  const callerLimits = {
    runs: createRunSlots({ max: runsPerCaller }),
    calls: createRunSlots({ max: openCallsPerCaller }),
  };
  const common = { changeTask, lifetime, lostAfterMs, retentionMs, now, newId, metrics, spans, log };
  const agentDefaults = {
    agentName: "agent",
    leaseMs,
    renewMs,
    progressMs,
    questionMs,
    random,
    slots: callerLimits.runs,
  };
  const runs =
    "taskQueue" in work
      ? createQueuedRuns({ ...common, ...work, timeoutMs: storeTimeoutMs })
      : createRuns({ ...common, ...agentDefaults, ...work });
  const advanceIfDue = createAdvanceIfDue({ ...common, runs });
  const lookAfter = outbox && createHandleLook({ store: guarded, advanceIfDue, outbox });
  const kept = outbox?.before(guarded) ?? guarded;
  const ofTasks = {
    runs,
    changeSignal,
    advanceIfDue,
    callerLimits,
    mayWait,
    maxTaskMs,
    random,
    isStopped: () => isStopped,
  };
  const tasks = createTasks({ ...common, ...ofTasks, store: kept });
  const waiting = { tasks, syncBudgetMs, pollAfterMs, isStopping: () => isStopping };
  const methods = {
    execute_task: createExecuteTaskHandler(waiting),
    get_task: createGetTaskHandler({ tasks, pollAfterMs }),
    cancel_task: createCancelTaskHandler({ tasks }),
    answer_task: createAnswerTaskHandler({ tasks, pollAfterMs, newId }),
    "rpc.discover": createDiscoverHandler(),
  };
  const busy = () => runs.count() > 0;
  const dispatch = createDispatch({ methods, metrics, log });
  const bodyTime = createTimeLimit({ ms: bodyTimeoutMs, reason: "unavailable" });
  const a2aRoutes =
    a2a && openA2a({ ...a2a, ...waiting, outbox, calls: callerLimits.calls, newId, random, metrics, log });
  const ofRequests = { maxRequestBytes, bodyTime, metrics, spans, exposition };
  const admit = createAdmitCaller({ authenticator, now, log });
  const exchange = createRoutes({ dispatch, a2a: a2aRoutes, dialects, admit, busy, ...ofRequests, now, log });
  return {
    handle: createWebHandler(exchange),
    exchange,
    authenticatorKind: authenticator.kind,
    lookAfter,
    busy,
    async stop({ graceMs }) {
      isStopping = true;
      await runs.stopAll({ graceMs, settleMs: storeTimeoutMs });
      isStopped = true;
      await push.settled();
    },
  };
}
