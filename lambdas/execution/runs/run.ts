/**
 * One run of one task: the agent works and may read attachments, the lease is renewed, progress is stored, and the outcome is stored
 * exactly once.
 */

import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Part } from "@sekisho/contracts/a2a/part.ts";
import { type ClientReason, SekishoError } from "@sekisho/contracts/errors.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { backoffMs } from "@sekisho/runtime/async/waiting.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createPublicFetch, type PublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import type { Metrics, OpenSpan, Spans } from "@sekisho/runtime/telemetry/telemetry.ts";
import { parseUrl } from "@sekisho/runtime/untrusted-input.ts";
import type { Agent, AgentTask, ReadAttachment } from "../agents/agent.ts";
import {
  endChange,
  questionChange,
  type RunReport,
  renewChange,
  reportChange,
  type TaskChange,
} from "../tasks/changes.ts";
import {
  deriveCallerId,
  deriveConversationId,
  type ExecutionOutcome,
  type ExecutionTask,
  type RunTimes,
  type TaskInput,
} from "../tasks/execution-task.ts";
import {
  type ChangeTask,
  createFittingChange,
  dropHistory,
  type TaskSignal,
} from "../tasks/task-store.ts";
import type { StopCause } from "../tasks/tasks.ts";
import { isReadableUrl } from "./artifact-url.ts";
import { cleanUp } from "./clean-up.ts";
import { type AgentTurn, collectOutcome, endAgentSpan, startAgentSpan } from "./collect-outcome.ts";
import { runAsAgent, runAsHost } from "./uncaught-errors.ts";

const reasonsForAgents: Record<StopCause, ClientReason> = {
  timeout: "timeout",
  canceled: "canceled",
  stopped: "unavailable",
  superseded: "canceled",
};

export type Run = {
  /** The task's record as this process changed it last, which need not have been the run. */
  latest(): ExecutionTask;
  stop(cause: StopCause): void;
  /** Resolves when the outcome is stored, or when this run may no longer store it. Never rejects. */
  ended: Promise<void>;
  /** Resolves when the agent's function has returned and cleaned up, which may be later if it ignores its signal. Never rejects. */
  returned: Promise<void>;
};

type HostTimes =
  | "syncBudgetMs"
  | "writingBudgetMs"
  | "storeTimeoutMs"
  | "pollAfterMs"
  | "pushedPollAfterMs";

export type RunSettings = Omit<RunTimes, HostTimes> & {
  agent: Agent;
  changeTask: ChangeTask;
  changeSignal: TaskSignal;
  /** Reads attachments. Default: only from public addresses. */
  publicFetch?: PublicFetch;
  now: () => number;
  newId: () => string;
  random: () => number;
  /** The name of the agent in metrics and logs. */
  agentName: string;
  metrics: Metrics;
  spans: Spans;
};

/** The agent's input, with the token that the record does not store. */
export type RunInput = TaskInput & { bot_token?: string };

/** Starts the agent. `task` holds a lease of `owner`. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function startRun(request: {
  settings: RunSettings;
  task: ExecutionTask;
  owner: string;
  params: RunInput;
  log: Log;
}): Run {
  const { settings, owner, params, log } = request;
  const { agent, agentName, spans, changeTask, changeSignal, leaseMs, renewMs, lostAfterMs } =
    settings;
  const {
    retentionMs,
    progressMs,
    questionMs,
    now,
    newId,
    random,
    metrics,
    publicFetch = createPublicFetch(),
  } = settings;
  const startedAtMs = now();
  const abort = new AbortController();
  /** Resolves when the agent ends its turn, or to undefined when it is stopped. */
  const { promise: turnOver, resolve: endTurn } = Promise.withResolvers<AgentTurn | undefined>();
  const news = createLatestWriter<RunReport>({
    // A failure is ignored: newer progress follows soon, and a lost lease shows at the next renewal.
    write: (value) => write(createReportChange(value)).then(noop, noop),
    intervalMs: progressMs,
  });
  let cause: StopCause | undefined;
  let isSettled = false;
  let latest = request.task;
  let working: Promise<void> | undefined;
  let seen = latest;
  const stopListening = changeSignal.listen({ id: latest.id, listener: (task) => (seen = task) });
  let renewTimer = setTimeout(keepLease, renewMs);
  const deadlineTimer = setTimeout(
    () => stop("timeout"),
    Math.max(0, latest.deadlineAtMs - startedAtMs),
  );

  function stop(why: StopCause): void {
    if (cause !== undefined || isSettled) return;
    cause = why;
    endTurn(undefined);
    // An agent may have handed the signal to something that nobody awaits.
    runAsAgent(log, () => abort.abort(new SekishoError(reasonsForAgents[why])));
  }

  function settle(): void {
    isSettled = true;
    clearTimeout(renewTimer);
    clearTimeout(deadlineTimer);
    news.close();
  }

  /** Stores a change. Stops the agent if another process has ended the task or taken it over. */
  function write(change: TaskChange): Promise<void> {
    return changeTask({ task: latest, change }).then(({ task, changed }) => {
      if (changed && task !== undefined) latest = task;
      else stop(task?.state === "canceled" ? "canceled" : "superseded");
    });
  }

  function countsAsLostAtMs(): number {
    return (latest.lease?.untilMs ?? 0) + lostAfterMs;
  }

  async function keepLease(): Promise<void> {
    try {
      await write(renewChange({ owner, untilMs: now() + leaseMs }));
    } catch {
      // The store is unavailable. After this time, other processes count the task as lost.
      if (now() >= countsAsLostAtMs()) stop("superseded");
    }
    if (!isSettled) renewTimer = setTimeout(keepLease, renewMs);
  }

  /** If the report does not fit into the record, leaves out artifacts and partial text, which are stored at the end. */
  function createReportChange(news: RunReport): TaskChange {
    const { artifacts: _made, ...rest } = news;
    const { partial_text: _written, ...progress } = news.progress ?? {};
    const least = { ...(news.progress && { progress }) };
    return createFittingChange(
      [news, rest, least].map((each) => reportChange({ owner, news: each })),
    );
  }

  function createTurnChange({ ended, artifacts: made }: AgentTurn): TaskChange {
    const artifacts = made.length > 0 ? { artifacts: made } : {};
    const ends = (outcome: ExecutionOutcome, rest = {}) =>
      endChange({ owner, outcome, ...rest, expiresAtMs: now() + retentionMs });
    const tooLarge = ends({ type: "failure", reason: "payload_too_large" });
    if (ended.type !== "question") {
      const all = ends(ended, artifacts);
      return createFittingChange([all, dropHistory(all), tooLarge]);
    }
    const { type: _type, ...question } = ended;
    const endAtMs = now() + Math.min(questionMs, retentionMs);
    const asked = { ...question, messageId: newId(), expiresAtMs: endAtMs };
    return createFittingChange([
      questionChange({ owner, question: asked, expiresAtMs: endAtMs + retentionMs, ...artifacts }),
      tooLarge,
    ]);
  }

  async function store(turn: AgentTurn): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await write(createTurnChange(turn));
      } catch (error) {
        if (now() >= countsAsLostAtMs()) {
          return log.error("outcome_not_stored", {
            reason: "unavailable",
            cause_kind: errorKind(error),
          });
        }
        await sleep(backoffMs({ attempt, baseMs: 100, capMs: 2000, random }));
      }
    }
  }

  async function run(): Promise<void> {
    const {
      requestId,
      principal,
      id: taskId,
      deadlineAtMs,
      answers,
      a2a,
      artifacts: made,
    } = latest;
    const { signal } = abort;
    const readAttachment = createReadAttachment({ publicFetch, signal, log });
    const messageId = answers?.at(-1)?.id ?? String(requestId);
    const conversation = a2a?.contextId ?? params.session_id;
    const contextId =
      conversation === undefined ? undefined : deriveConversationId({ principal, conversation });
    const ids = {
      requestId: String(requestId),
      taskId,
      messageId,
      contextId,
      caller: deriveCallerId(principal),
    };
    if (startedAtMs >= deadlineAtMs) stop("timeout");
    const task = createAgentTask({ params, answers });
    const work = async (span: OpenSpan) => {
      const context = { ...ids, signal, readAttachment, trace: span.trace, log };
      let cleaned: Promise<void> | undefined;
      const end = (updates: AsyncGenerator<unknown>) => (cleaned = cleanUp({ updates, log }));
      const callAgent = <T>(call: () => T) => runAsAgent(log, call);
      const collecting = collectOutcome({
        agent,
        task,
        context,
        made,
        isReadableUrl,
        onNews: news.put,
        end,
        callAgent,
      });
      working = collecting.then(endTurn).then(() => cleaned);
      const turn = await turnOver;
      endAgentSpan({ span, turn, cause });
      return turn;
    };
    const span = startAgentSpan({ agentName, task: latest, contextId: ids.contextId });
    const turn = cause === undefined ? await spans.within(span, work) : undefined;
    const outcome = cause === undefined ? undefined : toStopOutcome(cause);
    const final = cause === undefined ? turn : outcome && { ended: outcome, artifacts: [] };
    settle();
    const workedMs = now() - startedAtMs;
    if (final !== undefined) await store(final);
    const { state, outcome: stored } = latest;
    const reason = stored?.type === "failure" ? stored.reason : cause;
    stopListening();
    countRun(workedMs);
    log.info(state === "input_required" ? "task_asks" : "task_ended", {
      state,
      reason,
      duration_ms: now() - startedAtMs,
    });
  }

  /** A cancel by another process shows only in `cause`. A superseded run is counted by the process that took the task over. */
  function countRun(workedMs: number): void {
    metrics.observe("sekisho_agent_seconds", { agent: agentName }, Math.max(0, workedMs) / 1000);
    if (cause === "superseded") return;
    const failure = latest.outcome?.type === "failure" ? latest.outcome : undefined;
    const reason = failure?.lost ? "lost" : (failure?.reason ?? "none");
    metrics.add("sekisho_executions_total", {
      state: cause === "canceled" ? "canceled" : latest.state,
      reason,
    });
  }

  const ended = run();
  return { latest: () => seen, stop, ended, returned: ended.then(() => working) };
}

function noop(): void {}

/** The outcome of a stopped run; undefined if another process has ended the task. */
function toStopOutcome(cause: StopCause): ExecutionOutcome | undefined {
  if (cause === "timeout") return { type: "failure", reason: "timeout" };
  if (cause === "stopped") return { type: "failure", reason: "execution_failed", lost: true };
  return undefined;
}

/** The parts of a Slack message are its text and its attachments. The session id is not passed on, because a caller can send any value. */
function createAgentTask(options: {
  params: RunInput;
  answers: ExecutionTask["answers"];
}): AgentTask {
  const { answers = [] } = options;
  const { parts, text, attachments = [], session_id: _callersWord, ...params } = options.params;
  const files = attachments.map(({ url, name, mimetype }) => ({
    url,
    filename: name,
    mediaType: mimetype,
  }));
  const own: Part[] = [...(text === "" ? [] : [{ text }]), ...files];
  const said = answers.map(
    ({ id: _id, questionId: _questionId, fingerprint: _fingerprint, ...answer }) => answer,
  );
  return {
    ...params,
    text,
    ...(attachments.length > 0 && { attachments }),
    parts: parts ?? own,
    answers: said,
  };
}

type LatestWriter<T> = {
  put(value: T): void;
  /** Stops further writes. */
  close(): void;
};

/** Writes the first value at once, and then the latest value of each interval. */
export function createLatestWriter<T>(options: {
  write: (value: T) => Promise<void>;
  intervalMs: number;
}): LatestWriter<T> {
  const { write, intervalMs } = options;
  let waiting: { value: T } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isBusy = false;
  let isClosed = false;

  async function writeWaiting(): Promise<void> {
    if (isClosed) return;
    isBusy = waiting !== undefined;
    if (waiting === undefined) return;
    const { value } = waiting;
    waiting = undefined;
    await write(value);
    // After a close, a timer would keep the process alive.
    if (!isClosed) timer = setTimeout(writeWaiting, intervalMs);
  }

  return {
    put(value) {
      waiting = { value };
      if (!isBusy) void writeWaiting();
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

const defaultMaxBytes = 16 * 1024 * 1024;
/** The limit for one attachment. The task's own time also limits it. */
const timeoutMs = 60_000;

/** Creates the function by which an agent reads attachments. It aborts with the task's `signal`. */
export function createReadAttachment(options: {
  publicFetch: PublicFetch;
  signal: AbortSignal;
  log: Log;
}): ReadAttachment {
  const { publicFetch, signal, log } = options;
  return async ({ attachment: { url, sha256 }, maxBytes = defaultMaxBytes }) => {
    try {
      const bytes = await runAsHost(() => publicFetch({ url, maxBytes, timeoutMs, signal }));
      const isIntact =
        sha256 === undefined || createHash("sha256").update(bytes).digest("hex") === sha256;
      if (!isIntact) throw new SekishoError("invalid_response");
      return bytes;
    } catch (thrown) {
      if (!signal.aborted)
        log.warn("attachment_not_read", { reason: SekishoError.from(thrown).reason });
      throw thrown;
    }
  };
}

/** The path at which the Verification zone's server serves files. */
const localPath = "/files/";

/**
 * Reads from public addresses and, on this machine, only from the Verification zone's files, because the sender of a task chooses the
 * address. Only for runs on one machine: in a container or on AWS, other programs listen on loopback.
 */
export function createLocalAttachmentFetch(options: {
  /** Undefined while the Verification zone does not listen. Nothing local is read then. */
  verificationPort: () => number | undefined;
}): PublicFetch {
  const { verificationPort } = options;
  const elsewhere = createPublicFetch();
  const onLoopback = createPublicFetch({ allowLoopback: true });
  return (request) =>
    isLocalFile(request.url, verificationPort()) ? onLoopback(request) : elsewhere(request);
}

/** The URL parser has already resolved `..` in the path and normalized the address. */
function isLocalFile(address: string, port: number | undefined): boolean {
  const url = parseUrl(address);
  if (
    url?.protocol !== "http:" ||
    !isLoopbackHost(url.hostname) ||
    !url.pathname.startsWith(localPath)
  )
    return false;
  return Number(url.port || 80) === port;
}
