/** The methods of the zone contract: validates one request, runs its method, and returns the result or the error. Knows no HTTP. */

import type { JsonRpcRequest, RequestId } from "@sekisho/contracts/envelope.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import {
  methods as contract,
  isDedupedId,
  type MethodName,
  type ParamsOf,
  type ResultOf,
  type TaskResult,
} from "@sekisho/contracts/methods.ts";
import { buildOpenRpc, type OpenRpc } from "@sekisho/contracts/openrpc.ts";
import { compileWhenBusy } from "@sekisho/runtime/compiled-schema.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createTrace, type Metrics, readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import type * as z from "zod";
import type { AuthenticatedCaller } from "../exchange.ts";
import { createParamsError } from "../params-error.ts";
import type { PassVote } from "../runs/feedback.ts";
import { isAsking, isOver, questionEndsAtMs, voteChange } from "../tasks/changes.ts";
import {
  createFingerprint,
  deriveTaskId,
  digest,
  type ExecutionTask,
  isPushed,
  type RunTimes,
  toLoggableId,
} from "../tasks/execution-task.ts";
import type { Tasks } from "../tasks/tasks.ts";

type MethodCall<M extends MethodName> = {
  params: ParamsOf<M>;
  id: RequestId;
  caller: AuthenticatedCaller;
};
type MethodHandler<M extends MethodName> = (call: MethodCall<M>) => Promise<ResultOf<M>>;
export type MethodHandlers = { [M in MethodName]: MethodHandler<M> };

type DispatchResult = { result: unknown } | { error: SekishoError };
export type Dispatch = (call: {
  request: JsonRpcRequest;
  caller: AuthenticatedCaller;
}) => Promise<DispatchResult>;

const paramsSchemas = Object.fromEntries(
  Object.entries(contract).map(([name, { params }]) => [name, compileWhenBusy<z.ZodType>(params)]),
) as { [M in MethodName]: Pick<(typeof contract)[M]["params"], "safeParse"> };

/** Never rejects: whatever a method throws becomes an error. */
export function createDispatch(options: {
  methods: MethodHandlers;
  metrics: Metrics;
  log: Log;
}): Dispatch {
  const { methods, metrics, log } = options;
  return async ({ request, caller }) => {
    try {
      return { result: await call({ methods, request, caller }) };
    } catch (cause) {
      const error = SekishoError.from(cause);
      if (!isOutcome(error)) {
        metrics.add("sekisho_requests_refused_total", { zone: "execution", reason: error.reason });
        logRefusedRequest({ log, error, request, caller });
      }
      return { error };
    }
  };
}

/** True if the error is a task's outcome, which was logged when the task ended, and not a refused request. */
function isOutcome({ reason, details }: SekishoError): boolean {
  return details.correlation_id !== undefined && reason !== "invalid_state";
}

function logRefusedRequest(input: {
  log: Log;
  error: SekishoError;
  request: JsonRpcRequest;
  caller: AuthenticatedCaller;
}): void {
  const { log, error, caller } = input;
  const { method, params, id } = input.request;
  const { task_id: taskId, request_id: requestId } = Object(params) as {
    task_id?: unknown;
    request_id?: unknown;
  };
  const fields = {
    // A caller chooses an unknown method's name freely, so it is not logged.
    operation: isMethodName(method) ? method : undefined,
    task_id: error.details.task_id ?? toLoggableId(taskId),
    request_id: toLoggableId(
      method === "execute_task" ? id : (requestId ?? error.details.correlation_id),
    ),
    trace_id: caller.trace && readTraceId(caller.trace),
    reason: error.reason,
    cause_kind: error.cause === undefined ? undefined : errorKind(error.cause),
  };
  if (error.reason === "internal") log.error("request_failed", fields);
  else log.info("request_refused", fields);
}

function call(request: {
  methods: MethodHandlers;
  request: JsonRpcRequest;
  caller: AuthenticatedCaller;
}): Promise<unknown> {
  const { method: name, params, id } = request.request;
  if (!isMethodName(name)) throw new SekishoError("method_not_found");
  const parsedParams = paramsSchemas[name].safeParse(params);
  if (!parsedParams.success) throw createParamsError(parsedParams.error.issues);
  // Schema and method come from the same row of the table; TypeScript cannot follow the name through both.
  const method = request.methods[name] as (call: MethodCall<MethodName>) => Promise<unknown>;
  return method({ params: parsedParams.data, id, caller: request.caller });
}

export function isMethodName(name: string): name is MethodName {
  return Object.hasOwn(contract, name);
}

type MethodTimes =
  | "syncBudgetMs"
  | "writingBudgetMs"
  | "pollAfterMs"
  | "pushedPollAfterMs"
  | "progressMs";

type MethodSettings = Pick<RunTimes, MethodTimes> & {
  tasks: Tasks;
  now: () => number;
  passVote: PassVote;
  isStopping: () => boolean;
  newId: () => string;
  /** The agents that a task may choose by name. */
  agentNames: readonly string[];
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createMethods(settings: MethodSettings): MethodHandlers {
  const { tasks, syncBudgetMs, writingBudgetMs, progressMs, passVote, isStopping, newId, now } =
    settings;
  const { agentNames } = settings;
  const { pollAfterMs, pushedPollAfterMs = pollAfterMs } = settings;
  const lastPolls = createLastPolls();

  /**
   * Answers with the task's state and the recommended delay before the next poll. The delay is short while the agent writes its answer, because
   * only its beginning is pushed, and after a poll that was held since `heldSinceMs`.
   */
  function answer(task: ExecutionTask, heldSinceMs?: number): TaskResult {
    return taskResult({ task, pollAfterMs: adviseDelay(task, heldSinceMs) });
  }

  function adviseDelay(task: ExecutionTask, heldSinceMs: number | undefined): number {
    if (isWriting(task)) return Math.min(pollAfterMs, progressMs);
    if (heldSinceMs !== undefined)
      return Math.min(pollAfterMs, Math.max(progressMs, pollAfterMs - (now() - heldSinceMs)));
    // Nothing is pushed before `syncBudgetMs`. A caller that was answered earlier, because it has too many calls open, has to poll.
    const isPushedNow = isPushed(task) && now() - task.createdAtMs >= syncBudgetMs;
    return isPushedNow ? pushedPollAfterMs : pollAfterMs;
  }

  async function waitForAnswer(submittedTask: ExecutionTask): Promise<ExecutionTask> {
    const endMs = now() + syncBudgetMs;
    const isDue = (changedTask: ExecutionTask) =>
      isAsking(changedTask) || (isWriting(changedTask) && writingBudgetMs < syncBudgetMs);
    const task = await tasks.wait({ task: submittedTask, until: isDue, timeoutMs: syncBudgetMs });
    if (!isDue(task)) return task;
    return tasks.wait({
      task,
      until: isAsking,
      timeoutMs: Math.min(writingBudgetMs, endMs - now()),
    });
  }

  function waitForNews(task: ExecutionTask, timeoutMs: number): Promise<ExecutionTask> {
    const lastDescription = lastPolls.find(task) ?? describe(task);
    return tasks.wait({
      task,
      until: (changedTask) => describe(changedTask) !== lastDescription,
      timeoutMs,
    });
  }

  return {
    /**
     * Stores the task, starts it, and waits up to `syncBudgetMs` for its result. If the agent begins to write its answer, waits only
     * `writingBudgetMs` for the rest, so that a person can read along. A stopping host answers `unavailable`.
     */
    async execute_task({ params, id, caller: { principal, trace, receivedAtMs, verifyAsker } }) {
      if (isStopping()) throw new SekishoError("unavailable");
      const asker =
        verifyAsker && (await verifyAsker({ team: params.team_id, user: params.user_id }));
      const { bot_token: botToken, ...input } = params;
      const isUnknownAgent = input.agent !== undefined && !agentNames.includes(input.agent);
      const task = await tasks.submit({
        ...{ principal, input, botToken, receivedAtMs, asker },
        taskId: deriveTaskId({ principal, requestId: id }),
        requestId: id,
        fingerprint: createFingerprint(params),
        trace: trace ?? createTrace(),
        ...(isUnknownAgent && { refusal: new SekishoError("agent_not_found") }),
      });
      // A stored task is never refused: if the wait fails, the caller polls.
      const latestTask = await waitForAnswer(task).catch(() => task);
      return answer(latestTask);
    },

    /** Returns the task's state. With `wait_ms`, waits until its state, progress or open question is another than the last poll saw. */
    async get_task({
      params: { task_id: taskId, request_id: requestId, wait_ms: timeoutMs = 0 },
      caller,
    }) {
      const heldSinceMs = timeoutMs === 0 ? undefined : now();
      const task = await tasks.find({ principal: caller.principal, taskId, requestId });
      const latestTask = timeoutMs === 0 ? task : await waitForNews(task, timeoutMs);
      lastPolls.note(latestTask);
      return answer(latestTask, heldSinceMs);
    },

    /** Cancels the task at once, even if its agent is still working. Canceling twice is fine. */
    async cancel_task({
      params: { task_id: taskId, request_id: requestId },
      caller: { principal },
    }) {
      const task = await tasks.cancel({ principal, taskId, requestId });
      return { status: "canceled", task_id: task.id };
    },

    /**
     * Stores a person's reply. A JSON-RPC id that is not a UUID does not identify repetitions, so the reply gets a new id. Two people who
     * click the same button give the same answer: the question is answered as both wanted.
     */
    async answer_task({ params: { task_id: taskId, ...replyParams }, id, caller }) {
      const { principal, verifyAsker } = caller;
      const { question_id: questionId, text = "", ...reply } = replyParams;
      const { option_id, fields } = reply;
      const answerId = isDedupedId(id) ? id.toLowerCase() : newId();
      const values = fields && Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1));
      const fingerprint = digest([option_id, text, ...(values === undefined ? [] : [values])]);
      const submission = { ...reply, id: answerId, questionId, fingerprint, text };
      const asker = verifyAsker && (await verifyAsker({ user: reply.user_id }));
      return answer(await tasks.answer({ principal, taskId, asker, answer: submission }));
    },

    /** Stores a person's vote on the answer of a completed task, then passes it to the agent. */
    async feedback({ params, caller: { principal } }) {
      const { task_id: taskId, request_id: requestId, vote, voter_id: voterId, voted_at } = params;
      const change = voteChange({ voterId, vote, atMs: Date.parse(voted_at) });
      const task = await tasks.update({ principal, taskId, requestId, change });
      const { id: task_id, state: current } = task;
      if (current !== "completed")
        throw new SekishoError("invalid_state", { details: { task_id, current } });
      await passVote({ task, voterId });
      return { status: "recorded", task_id };
    },

    "rpc.discover": async () => openRpc(),
  };
}

/** True while the agent has told a part of its answer. */
function isWriting({ state, progress }: ExecutionTask): boolean {
  return state === "working" && progress?.partial_text !== undefined;
}

/** Describes what a poll would tell of a task that goes on, so that two polls can be compared. */
function describe({ state, progress, question }: ExecutionTask): string {
  return digest([state, progress, question?.messageId]);
}

/** Beyond this number, the task that was polled longest ago is forgotten. */
const maxPolled = 1000;

/**
 * Remembers what the last poll of each task was told. Without it, a poll that waits for news would miss what changed since the poll before
 * it, and wait for the next change.
 */
function createLastPolls() {
  const descriptions = new Map<string, string>();
  return {
    note(task: ExecutionTask): void {
      descriptions.delete(task.id);
      if (isOver(task)) return;
      descriptions.set(task.id, describe(task));
      const [oldestId] = descriptions.keys();
      if (oldestId !== undefined && descriptions.size > maxPolled) descriptions.delete(oldestId);
    },
    find: ({ id }: ExecutionTask) => descriptions.get(id),
  };
}

let openRpcDocument: OpenRpc | undefined;

/** The contract's OpenRPC document. It is built at the first request and then cached. */
export function openRpc(): OpenRpc {
  openRpcDocument ??= buildOpenRpc();
  return openRpcDocument;
}

/** Throws the task's own error if it failed or was canceled. */
function taskResult({
  task,
  pollAfterMs,
}: {
  task: ExecutionTask;
  pollAfterMs: number;
}): TaskResult {
  const { id, correlationId, outcome, progress, question, artifacts } = task;
  if (question !== undefined) {
    const { prompt, options, fields, kind, messageId: question_id } = question;
    const { url, answerers, approvals } = question;
    const expires_at = new Date(questionEndsAtMs(task)).toISOString();
    return {
      status: "input_required",
      task_id: id,
      prompt,
      ...(options && { options }),
      ...(fields && { fields }),
      ...(kind && { kind }),
      ...(url && { url }),
      ...(answerers && { answerers }),
      ...(approvals && { approvals }),
      question_id,
      expires_at,
    };
  }
  if (!isOver(task)) {
    const expires_at = new Date(task.expiresAtMs).toISOString();
    return {
      status: "accepted",
      task_id: id,
      poll_after_ms: pollAfterMs,
      expires_at,
      ...(progress && { progress }),
    };
  }
  if (outcome?.type === "success") {
    const { text, usage } = outcome;
    const extra = { ...(artifacts && { artifacts }), ...(usage && { usage }) };
    return { status: "success", response_text: text, ...extra, correlation_id: correlationId };
  }
  const details = {
    task_id: id,
    correlation_id: correlationId,
    ...(outcome?.lost && { lost: true }),
  };
  throw new SekishoError(outcome?.reason ?? "canceled", { details });
}
