/** Every operation of A2A and what does it here. */

import type { Message } from "../../../contracts/a2a/part.ts";
import type { StreamEvent } from "../../../contracts/a2a/task.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { isAsking, isOver, unlistChange } from "../tasks/changes.ts";
import type { ExecutionTask } from "../tasks/execution-task.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { ServedCards } from "./late-cards.ts";
import { listTasks } from "./list-tasks.ts";
import type { OperationHandler, OperationHandlers } from "./operation.ts";
import type { PushConfigs } from "./push-configs.ts";
import { createReceiveMessage, type ReceiveMessage } from "./receive-message.ts";
import { streamTaskEvents } from "./stream-events.ts";
import { createDirectMessage, toA2aTask } from "./view.ts";

/** How long a stream waits before it shows the task, for an answer that needs none. */
const defaultFirstSignMs = 250;

export function createOperations({
  tasks,
  cards,
  pushConfigs,
  syncBudgetMs,
  pollAfterMs,
  firstSignMs = defaultFirstSignMs,
  deduplicates = true,
  isStopping,
  newId,
}: {
  tasks: Tasks;
  cards: Pick<ServedCards, "extended">;
  pushConfigs: PushConfigs;
  syncBudgetMs: number;
  pollAfterMs: number;
  firstSignMs?: number | undefined;
  deduplicates?: boolean | undefined;
  isStopping: () => boolean;
  newId: () => string;
}): OperationHandlers {
  const receive = createReceiveMessage({ tasks, pushConfigs, deduplicates, isStopping, newId });
  return {
    SendMessage: sendMessage({ tasks, receive, syncBudgetMs, pollAfterMs }),
    SendStreamingMessage: sendStreamingMessage({ tasks, receive, firstSignMs, pollAfterMs }),
    SubscribeToTask: subscribeToTask({ tasks, pollAfterMs }),
    GetTask: getTask({ tasks, pollAfterMs }),
    ListTasks: listTasks({ tasks, pollAfterMs }),
    CancelTask: cancelTask({ tasks }),
    CreateTaskPushNotificationConfig: async ({ params, version, caller: { principal } }) =>
      pushConfigs.create({ principal, params, version }),
    GetTaskPushNotificationConfig: async ({ params, caller: { principal } }) => pushConfigs.get({ principal, params }),
    ListTaskPushNotificationConfigs: async ({ params, caller: { principal } }) =>
      pushConfigs.list({ principal, params }),
    DeleteTaskPushNotificationConfig: async ({ params, caller: { principal } }) =>
      pushConfigs.delete({ principal, params }),
    GetExtendedAgentCard: getExtendedAgentCard({ cards }),
  };
}

/** `CancelTask`: the task is canceled from now on, whatever its agent still does; canceling twice is fine. */
function cancelTask({ tasks }: { tasks: Tasks }): OperationHandler<"CancelTask"> {
  return async ({ params: { id: taskId }, caller: { principal } }) => {
    return toA2aTask({ task: await tasks.cancel({ principal, taskId }) });
  };
}

/** `GetExtendedAgentCard`: what the agent says of itself to those whom it knows. */
function getExtendedAgentCard({
  cards,
}: {
  cards: Pick<ServedCards, "extended">;
}): OperationHandler<"GetExtendedAgentCard"> {
  return async ({ version }) => cards.extended({ version });
}

/** `GetTask`: how a task stands. */
function getTask({ tasks, pollAfterMs }: { tasks: Tasks; pollAfterMs: number }): OperationHandler<"GetTask"> {
  return async ({ params: { id: taskId, historyLength }, caller: { principal } }) => {
    return toA2aTask({ task: await tasks.find({ principal, taskId }), historyLength, pollAfterMs });
  };
}

/** `SendMessage`: the task when its turn is over or the sync budget is, or the answer that needs no task. */
function sendMessage({
  tasks,
  receive,
  syncBudgetMs,
  pollAfterMs,
}: {
  tasks: Tasks;
  receive: ReceiveMessage;
  syncBudgetMs: number;
  pollAfterMs: number;
}): OperationHandler<"SendMessage"> {
  return async (call) => {
    const { historyLength, returnImmediately = false } = call.params.configuration ?? {};
    const task = await receive(call);
    const timeoutMs = returnImmediately ? 0 : syncBudgetMs;
    // What was taken is never refused: where it cannot be watched, the client asks again.
    const latest = await tasks.wait({ task, until: isAsking, timeoutMs }).catch(() => task);
    const message = await answerDirectly({ tasks, task: latest });
    return message ? { message } : { task: toA2aTask({ task: latest, historyLength, pollAfterMs }) };
  };
}

/** Whether the answer needs no task shows within `firstSignMs`, or the task is shown: whichever sign the agent gives first. */
function sendStreamingMessage({
  tasks,
  receive,
  firstSignMs,
  pollAfterMs,
}: {
  tasks: Tasks;
  receive: ReceiveMessage;
  firstSignMs: number;
  pollAfterMs: number;
}): OperationHandler<"SendStreamingMessage"> {
  return async (call) => {
    const historyLength = call.params.configuration?.historyLength;
    const shown = await receive(call);
    const until = (seen: ExecutionTask) => isAsking(seen) || hasNews({ seen, shown });
    const task = await tasks.wait({ task: shown, until, timeoutMs: firstSignMs }).catch(() => shown);
    const message = await answerDirectly({ tasks, task });
    if (message) return only(message);
    const view = (seen: ExecutionTask) => toA2aTask({ task: seen, historyLength, pollAfterMs });
    return streamTaskEvents({ tasks, shown, task, view, signal: call.client.signal });
  };
}

function hasNews({ seen, shown }: { seen: ExecutionTask; shown: ExecutionTask }): boolean {
  return seen.progress !== shown.progress || seen.artifacts !== shown.artifacts;
}

async function* only(message: Message): AsyncGenerator<StreamEvent> {
  yield { message };
}

/**
 * In 1.0 the stream goes on over questions to the end of the task; a client of 0.3 takes a question for the stream's last event.
 * Rejects with `unsupported_operation` for a task that is over (A2A 1.0, section 3.1.6).
 */
function subscribeToTask({
  tasks,
  pollAfterMs,
}: {
  tasks: Tasks;
  pollAfterMs: number;
}): OperationHandler<"SubscribeToTask"> {
  return async ({ params: { id: taskId }, version, caller: { principal }, client }) => {
    const task = await tasks.find({ principal, taskId });
    if (isOver(task)) throw new SekishoError("unsupported_operation", { details: { task_id: task.id } });
    const view = (seen: ExecutionTask) => toA2aTask({ task: seen, pollAfterMs });
    const until = version === "1.0" ? isOver : undefined;
    return streamTaskEvents({ tasks, shown: task, task, view, until, signal: client.signal });
  };
}

/** Undefined where the task is to be shown. */
async function answerDirectly({
  tasks,
  task,
}: {
  tasks: Pick<Tasks, "update">;
  task: ExecutionTask;
}): Promise<Message | undefined> {
  const message = createDirectMessage(task);
  const { principal, id: taskId, listedAtMs } = task;
  // A task that stays in the listing does no harm; an answer that is there is not kept back for it.
  if (message !== undefined && listedAtMs !== undefined) {
    await tasks.update({ principal, taskId, change: unlistChange }).catch(() => undefined);
  }
  return message;
}
