/** The A2A operations of the host. */

import type { Message } from "@sekisho/contracts/a2a/part.ts";
import type { StreamEvent } from "@sekisho/contracts/a2a/task.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isAsking, isOver, unlistChange } from "../tasks/changes.ts";
import type { ExecutionTask } from "../tasks/execution-task.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { ServedCards } from "./cards.ts";
import { listTasks } from "./list-tasks.ts";
import type { OperationHandlers } from "./operation.ts";
import type { PushConfigs } from "./push-configs.ts";
import { createReceiveMessage } from "./receive-message.ts";
import { createDirectMessage, streamTaskEvents, toA2aTask } from "./view.ts";

/** How long a stream waits for a direct answer before it shows the task. */
const defaultFirstSignMs = 250;

export function createOperations(settings: {
  tasks: Tasks;
  cards: Pick<ServedCards, "extended">;
  pushConfigs: PushConfigs;
  syncBudgetMs: number;
  pollAfterMs: number;
  firstSignMs?: number | undefined;
  deduplicates?: boolean | undefined;
  listsTasks?: boolean | undefined;
  isStopping: () => boolean;
  newId: () => string;
}): OperationHandlers {
  const { tasks, cards, pushConfigs, syncBudgetMs, pollAfterMs } = settings;
  const { firstSignMs = defaultFirstSignMs, deduplicates = true, listsTasks = true } = settings;
  const receive = createReceiveMessage({ ...settings, deduplicates });

  function createView(historyLength?: number) {
    return (task: ExecutionTask) => toA2aTask({ task, historyLength, pollAfterMs });
  }

  /** Removes a task from the listing because its client gets a direct answer. If this fails, the task merely stays there. */
  async function unlist({ principal, id: taskId, listedAtMs }: ExecutionTask): Promise<void> {
    if (listedAtMs === undefined) return;
    await tasks.update({ principal, taskId, change: unlistChange }).catch(() => undefined);
  }

  return {
    /** Returns the task when its turn or the sync budget is over, or a direct answer. */
    async SendMessage(call) {
      const { historyLength, returnImmediately = false } = call.params.configuration ?? {};
      const task = await receive(call);
      const timeoutMs = returnImmediately ? 0 : syncBudgetMs;
      // An accepted message is never refused: if the wait fails, the client polls.
      const latestTask = await tasks.wait({ task, until: isAsking, timeoutMs }).catch(() => task);
      const message = createDirectMessage(latestTask);
      if (message === undefined) return { task: createView(historyLength)(latestTask) };
      await unlist(latestTask);
      return { message };
    },

    /** Waits up to `firstSignMs` for the agent's first update. Sends a direct answer as one message, or else streams the task. */
    async SendStreamingMessage(call) {
      const firstTask = await receive(call);
      const until = (changedTask: ExecutionTask) =>
        isAsking(changedTask) ||
        changedTask.progress !== firstTask.progress ||
        changedTask.artifacts !== firstTask.artifacts;
      const task = await tasks
        .wait({ task: firstTask, until, timeoutMs: firstSignMs })
        .catch(() => firstTask);
      const message = createDirectMessage(task);
      if (message !== undefined) {
        await unlist(task);
        return streamMessage(message);
      }
      const view = createView(call.params.configuration?.historyLength);
      return streamTaskEvents({ tasks, firstTask, task, view, signal: call.client.openSignal() });
    },

    /**
     * In 1.0, the stream continues after questions until the task is over. A client of 0.3 treats a question as the last event. Rejects
     * with `unsupported_operation` for a task that is over (A2A 1.0, section 3.1.6).
     */
    async SubscribeToTask({ params: { id: taskId }, version, caller: { principal }, client }) {
      const task = await tasks.find({ principal, taskId });
      if (isOver(task))
        throw new SekishoError("unsupported_operation", { details: { task_id: task.id } });
      const until = version === "1.0" ? isOver : undefined;
      return streamTaskEvents({
        tasks,
        firstTask: task,
        task,
        view: createView(),
        until,
        signal: client.openSignal(),
      });
    },

    GetTask: async ({ params: { id: taskId, historyLength }, caller: { principal } }) =>
      createView(historyLength)(await tasks.find({ principal, taskId })),
    ListTasks: listsTasks ? listTasks({ tasks, pollAfterMs }) : refuseOperation,

    /** Cancels the task at once, even if its agent is still working. Canceling twice is fine. */
    CancelTask: async ({ params: { id: taskId }, caller: { principal } }) =>
      createView()(await tasks.cancel({ principal, taskId })),

    CreateTaskPushNotificationConfig: ({ params, version, caller: { principal } }) =>
      pushConfigs.create({ principal, params, version }),
    GetTaskPushNotificationConfig: ({ params, caller: { principal } }) =>
      pushConfigs.get({ principal, params }),
    ListTaskPushNotificationConfigs: ({ params, caller: { principal } }) =>
      pushConfigs.list({ principal, params }),
    DeleteTaskPushNotificationConfig: ({ params, caller: { principal } }) =>
      pushConfigs.delete({ principal, params }),
    GetExtendedAgentCard: async ({ version }) => cards.extended({ version }),
  };
}

async function refuseOperation(): Promise<never> {
  throw new SekishoError("unsupported_operation");
}

async function* streamMessage(message: Message): AsyncGenerator<StreamEvent> {
  yield { message };
}
