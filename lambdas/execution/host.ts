/** The Execution host: takes requests, runs the agent at most once per task, and answers from the store. */
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { maxRequestBytes as contractMaxRequestBytes } from "@sekisho/contracts/methods.ts";
import { createTimeLimit } from "@sekisho/runtime/async/time-limit.ts";
import type { TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { createBodyBudget, defaultMaxHeldBytes } from "@sekisho/runtime/http/server-limits.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { PublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import type { ProcessTelemetry, Telemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import { type A2aSettings, openA2a } from "./a2a/endpoint.ts";
import { createHandleLook, type HandleLook, openTaskChanges } from "./a2a/push-outbox.ts";
import type { Agent } from "./agents/agent.ts";
import type { LocalKeys, VerifierSettings } from "./authenticator/asker-token.ts";
import { type Authenticator, createAdmitCaller } from "./authenticator/authenticator.ts";
import { createReceiveAsker } from "./authenticator/receive-asker.ts";
import { withDefaults } from "./host-settings.ts";
import { createRoutes, createWebHandler } from "./http/routes.ts";
import type { ServedHost } from "./http/server.ts";
import { createRunSlots } from "./limits.ts";
import { createDispatch, createMethods } from "./methods/methods.ts";
import { createPassVote, createQueueVote } from "./runs/feedback.ts";
import { createAdvanceIfDue, createQueuedRuns, createRuns } from "./runs/runs.ts";
import type { ConversationStore } from "./tasks/conversation-record.ts";
import type { ExecutionTask, RunTimes } from "./tasks/execution-task.ts";
import { createLifetime, endlessLifetime } from "./tasks/lifetime.ts";
import { createTasks } from "./tasks/tasks.ts";
import { createClaimToken, type UsedTokenStore } from "./tasks/used-token.ts";

type HostSettings = Partial<RunTimes> & {
  store: TaskStore<ExecutionTask>;
  authenticator: Authenticator;
  /** Verifies who asked. `usedTokens` is a store that all processes of the zone share. Default: nobody is verified. */
  asker?:
    | { settings: VerifierSettings; usedTokens: UsedTokenStore; localKeys?: LocalKeys | undefined }
    | undefined;
  /** The queue for completion pushes. Without it, clients poll. */
  completions?: TaskQueue | undefined;
  /** Without it, the host serves no A2A. */
  a2a?: A2aSettings | undefined;
  /** The agents that tasks may choose by name. A task for another name is refused with `agent_not_found`. Default: none. */
  agentNames?: readonly string[];
  /** More paths that serve the zone contract, each with the dialect of its errors. */
  dialects?: Readonly<Record<string, Dialect>>;
  /** Answers every POST with the status 200, because the platform in front replaces the body of any other. Default: only `/invocations`. */
  hidesStatus?: boolean;
  /** The longest time for one task, which is also the default for a request without a timeout. */
  maxTaskMs?: number;
  /** How long the platform still lets this process live. A task that may take longer is refused with `session_ending`. */
  processLeftMs?: () => number;
  /** The limits for the concurrent work of one caller in this process. */
  limits?: { runsPerCaller: number; openCallsPerCaller: number };
  /**
   * True if this caller's calls may be held open until something changes. Default: always true. On Lambda it must restrict held
   * calls, because each instance sees only its own call and `limits` cannot count the others.
   */
  mayWait?: (principal: string) => boolean;
  maxRequestBytes?: number;
  /** The limit for the bytes of all bodies that are being read. When it is reached, the caller with the most gives up its oldest body. */
  maxHeldBytes?: number;
  bodyTimeoutMs?: number;
  log?: Log;
  /** If it has an `exposition`, the host serves metrics to every admitted caller. */
  telemetry?: Telemetry & Partial<Pick<ProcessTelemetry, "exposition">>;
  now?: () => number;
  newId?: () => string;
  random?: () => number;
};

/**
 * With an `agent`, tasks run in this process. With a `taskQueue`, their ids go to an Execution worker. `agentName` is for log
 * lines. `publicFetch` reads attachments; by default only from public addresses. Without `conversations`, agents keep nothing between
 * tasks.
 */
export type HostOptions = HostSettings &
  (
    | {
        agent: Agent;
        agentName?: string;
        publicFetch?: PublicFetch;
        conversations?: ConversationStore | undefined;
      }
    | { taskQueue: TaskQueue }
  );

export type Host = ServedHost & {
  /** The same as `exchange`, for a server of web-standard requests. */
  handle(request: Request): Promise<Response>;
  /** Handles a look, a message in `a2a.notifications` that asks to check a task. Absent without that queue. */
  lookAfter?: HandleLook | undefined;
  /** True if an agent is running. */
  busy(): boolean;
  /** Starts no new run, waits `graceMs` for running ones, then stops their agents and stores the tasks as lost. Tasks stay readable. */
  stop(request: { graceMs: number }): Promise<void>;
};

/** Stores the outcome of a canceled, expired or stopped task at once. The agent is stopped through its signal. */
export function createHost(options: HostOptions): Host {
  const settings = withDefaults(options);
  const {
    authenticator,
    asker,
    a2a,
    dialects = {},
    hidesStatus = false,
    processLeftMs,
    maxTaskMs = 8 * 3600_000,
    storeTimeoutMs,
  } = settings;
  const {
    limits: { runsPerCaller, openCallsPerCaller } = {
      runsPerCaller: 1000,
      openCallsPerCaller: 1000,
    },
  } = settings;
  const { maxRequestBytes = contractMaxRequestBytes, maxHeldBytes = defaultMaxHeldBytes } =
    settings;
  const { bodyTimeoutMs = 10_000, telemetry, now, random, log } = settings;
  const { metrics, spans, exposition } = telemetry;
  let isStopping = false;
  let isStopped = false;
  const { guardedStore, changeSignal, push, outbox, changeTask } = openTaskChanges({
    ...settings,
    ...a2a,
  });
  const lifetime =
    processLeftMs === undefined ? endlessLifetime : createLifetime({ processLeftMs, now });
  const callerLimits = {
    runs: createRunSlots({ max: runsPerCaller }),
    calls: createRunSlots({ max: openCallsPerCaller }),
  };
  const common = { ...settings, maxTaskMs, changeTask, changeSignal, lifetime, metrics, spans };
  const runs =
    "taskQueue" in settings
      ? createQueuedRuns({ ...common, taskQueue: settings.taskQueue, timeoutMs: storeTimeoutMs })
      : createRuns({ ...common, agent: settings.agent, slots: callerLimits.runs });
  const passVote =
    "taskQueue" in settings
      ? createQueueVote({ taskQueue: settings.taskQueue, timeoutMs: storeTimeoutMs })
      : createPassVote({ agent: settings.agent, log });
  const advanceIfDue = createAdvanceIfDue({ ...common, runs });
  const tasks = createTasks({
    ...common,
    ...{ runs, advanceIfDue, callerLimits },
    store: outbox?.wrapStore(guardedStore) ?? guardedStore,
    isStopped: () => isStopped,
  });
  const methodSettings = { ...common, tasks, passVote, isStopping: () => isStopping };
  const exchange = createRoutes({
    dispatch: createDispatch({ methods: createMethods(methodSettings), metrics, log }),
    a2a: a2a && openA2a({ ...methodSettings, ...a2a, outbox, calls: callerLimits.calls }),
    admit: createAdmitCaller({ authenticator, now, log }),
    receiveAsker: asker && openReceiveAsker({ ...asker, storeTimeoutMs, now, log }),
    bodyTime: createTimeLimit({ ms: bodyTimeoutMs, reason: "unavailable" }),
    bodyBudget: createBodyBudget({ maxBytes: maxHeldBytes }),
    ...{
      dialects,
      hidesStatus,
      activity: runs.activity,
      maxRequestBytes,
      metrics,
      spans,
      exposition,
      now,
      random,
      log,
    },
  });
  return {
    handle: createWebHandler(exchange),
    exchange,
    authenticatorKind: authenticator.kind,
    lookAfter: outbox && createHandleLook({ store: guardedStore, advanceIfDue, outbox }),
    busy: () => runs.activity().isBusy,
    async stop({ graceMs }) {
      isStopping = true;
      await runs.stopAll({ graceMs, settleMs: storeTimeoutMs });
      isStopped = true;
      await push.waitForPushes();
    },
  };
}

function openReceiveAsker(
  options: NonNullable<HostSettings["asker"]> & {
    storeTimeoutMs: number;
    now: () => number;
    log: Log;
  },
) {
  const { usedTokens: store, storeTimeoutMs: timeoutMs, log } = options;
  return createReceiveAsker({
    ...options,
    claimToken: createClaimToken({ store, timeoutMs, log }),
  });
}
