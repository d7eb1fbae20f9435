/** One run of one task: starts the agent, stops it at its deadline or when the task is gone, and counts how it ended. */
import { type ClientReason, SekishoError } from "@sekisho/contracts/errors.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createPublicFetch, type PublicFetch } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import type { Metrics, Spans } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { Agent } from "../agents/agent.ts";
import type { AskerToken } from "../received-asker.ts";
import type { ConversationStore } from "../tasks/conversation-record.ts";
import type { ExecutionOutcome, ExecutionTask } from "../tasks/execution-task.ts";
import type { StopCause } from "../tasks/tasks.ts";
import {
  addAsker,
  createAgentIds,
  createAgentTask,
  type RunInput,
  readSession,
} from "./agent-input.ts";
import { endAgentSpan, startAgentSpan } from "./agent-span.ts";
import { isReadableUrl } from "./artifact-url.ts";
import { createReadAttachment } from "./attachments.ts";
import { cleanUp } from "./clean-up.ts";
import { type AgentTurn, collectOutcome } from "./collect-outcome.ts";
import { createConversation } from "./conversation.ts";
import { openRunRecord, type RecordSettings } from "./run-record.ts";
import { runAsAgent } from "./uncaught-errors.ts";

const reasonsForAgents: Record<StopCause, ClientReason> = {
  timeout: "timeout",
  canceled: "canceled",
  stopped: "unavailable",
  superseded: "canceled",
};

/** After any other cause, another process has ended the task. */
const stopOutcomes: Partial<Record<StopCause, ExecutionOutcome>> = {
  timeout: { type: "failure", reason: "timeout" },
  stopped: { type: "failure", reason: "execution_failed", lost: true },
};

export type Run = {
  /** The task's record as this process changed it last, which need not have been the run. */
  latest(): ExecutionTask;
  stop(cause: StopCause): void;
  /** Resolves when the outcome is stored, or when this run may no longer store it. Never rejects. */
  end: Promise<void>;
  /** Resolves when the agent's function has returned and cleaned up, which may be later if it ignores its signal. Never rejects. */
  agentEnd: Promise<void>;
};

export type RunSettings = RecordSettings & {
  agent: Agent;
  /** Reads attachments. Default: only from public addresses. */
  publicFetch?: PublicFetch;
  /** Keeps the values of conversations. Default: nothing is kept. */
  conversations?: ConversationStore | undefined;
  storeTimeoutMs: number;
  /** The name of the main agent in metrics and logs. */
  agentName: string;
  metrics: Metrics;
  spans: Spans;
};

/** Starts the agent. `task` holds a lease of `owner`. */
export function startRun(request: {
  settings: RunSettings;
  task: ExecutionTask;
  owner: string;
  params: RunInput;
  askerToken: AskerToken | undefined;
  log: Log;
}): Run {
  const { settings, task, owner, params, askerToken, log } = request;
  const { agent, spans, now, publicFetch = createPublicFetch() } = settings;
  const { agent: agentName = settings.agentName } = task;
  const startedAtMs = now();
  const abort = new AbortController();
  /** Resolves when the agent ends its turn, or to undefined when it is stopped. */
  const { promise: turnEnd, resolve: endTurn } = Promise.withResolvers<AgentTurn | undefined>();
  let cause: StopCause | undefined;
  let isSettled = false;
  let agentWork: Promise<void> | undefined;
  const record = openRunRecord({ settings, task, owner, log, onLoss: stop });
  const deadlineTimer = setTimeout(
    () => stop("timeout"),
    Math.max(0, task.deadlineAtMs - startedAtMs),
  );

  function stop(stopCause: StopCause): void {
    if (cause !== undefined || isSettled) return;
    cause = stopCause;
    endTurn(undefined);
    // An agent may have handed the signal to something that nobody awaits.
    runAsAgent(log, () => abort.abort(new SekishoError(reasonsForAgents[stopCause])));
  }

  function runTurn(): Promise<AgentTurn | undefined> {
    const { signal } = abort;
    const ids = createAgentIds({ task, params });
    const readAttachment = createReadAttachment({ publicFetch, signal, log });
    const conversation = createConversation({
      ...{ store: settings.conversations, timeoutMs: settings.storeTimeoutMs, now, log, agentName },
      ...{ principal: task.principal, session: readSession({ task, params }) },
    });
    const agentTask = createAgentTask({ params, answers: task.answers });
    const start = startAgentSpan({ agentName, task, contextId: ids.contextId });
    return spans.within(start, async (span) => {
      const { trace } = span;
      const plainContext = { ...ids, signal, readAttachment, conversation, trace, log };
      let cleanUpEnd: Promise<void> | undefined;
      const turnPromise = collectOutcome({
        agent,
        task: agentTask,
        context: addAsker({ context: plainContext, asker: task.asker, askerToken, now }),
        earlierArtifacts: task.artifacts,
        isReadableUrl,
        onNews: record.report,
        endUpdates: (updates) => (cleanUpEnd = cleanUp({ updates, log })),
        callAgent: (call) => runAsAgent(log, call),
      });
      agentWork = turnPromise.then(endTurn).then(() => cleanUpEnd);
      const turn = await turnEnd;
      endAgentSpan({ span, turn, cause });
      return turn;
    });
  }

  async function run(): Promise<void> {
    if (startedAtMs >= task.deadlineAtMs) stop("timeout");
    const turn = cause === undefined ? await runTurn() : undefined;
    isSettled = true;
    clearTimeout(deadlineTimer);
    const workedMs = now() - startedAtMs;
    const outcome = cause && stopOutcomes[cause];
    const stopTurn = outcome && { end: outcome, artifacts: [] };
    const lastTask = await record.close(cause === undefined ? turn : stopTurn);
    countRun({ settings, task: lastTask, cause, workedMs });
    log.info(lastTask.state === "input_required" ? "task_asks" : "task_ended", {
      state: lastTask.state,
      reason: lastTask.outcome?.type === "failure" ? lastTask.outcome.reason : cause,
      duration_ms: now() - startedAtMs,
    });
  }

  const end = run();
  return { latest: record.latest, stop, end, agentEnd: end.then(() => agentWork) };
}

/** A cancel by another process shows only in `cause`. A superseded run is counted by the process that took the task over. */
function countRun(run: {
  settings: RunSettings;
  task: ExecutionTask;
  cause: StopCause | undefined;
  workedMs: number;
}): void {
  const { settings, task, cause, workedMs } = run;
  const { metrics } = settings;
  const { agent: agentName = settings.agentName } = task;
  metrics.observe("sekisho_agent_seconds", { agent: agentName }, Math.max(0, workedMs) / 1000);
  if (cause === "superseded") return;
  const failure = task.outcome?.type === "failure" ? task.outcome : undefined;
  metrics.add("sekisho_executions_total", {
    state: cause === "canceled" ? "canceled" : task.state,
    reason: failure?.lost ? "lost" : (failure?.reason ?? "none"),
  });
}
