/** Every operation of A2A and what does it here. */
import type { Tasks } from "../tasks.ts";
import type { ServedCards } from "./late-cards.ts";
import type { Operations } from "./operation.ts";
import { cancelTask } from "./operations/cancel-task.ts";
import { getExtendedAgentCard } from "./operations/get-extended-agent-card.ts";
import { getTask } from "./operations/get-task.ts";
import { listTasks } from "./operations/list-tasks.ts";
import { sendMessage } from "./operations/send-message.ts";
import { sendStreamingMessage } from "./operations/send-streaming-message.ts";
import { subscribeToTask } from "./operations/subscribe-to-task.ts";
import type { PushConfigs } from "./push-configs.ts";
import { createReceiveMessage } from "./receive-message.ts";

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
}): Operations {
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
