/** Writes the results of the operations for clients of A2A 0.3 (section 7). */
import type { AgentCard } from "../card.ts";
import type { PushConfig } from "../push.ts";
import type { A2aTask, SendResult, StreamEvent } from "../task.ts";
import { cardToV03 } from "./card.ts";
import { pushConfigToV03, type V03OperationName } from "./params.ts";
import { eventToV03, taskToV03 } from "./task.ts";

type TaskPushConfig = PushConfig & { taskId: string };

/** The result of each operation in 1.0. A streaming one has it in each event. */
type Results = {
  SendMessage: SendResult;
  SendStreamingMessage: StreamEvent;
  GetTask: A2aTask;
  CancelTask: A2aTask;
  SubscribeToTask: StreamEvent;
  CreateTaskPushNotificationConfig: TaskPushConfig;
  GetTaskPushNotificationConfig: TaskPushConfig;
  ListTaskPushNotificationConfigs: { configs: readonly TaskPushConfig[] };
  DeleteTaskPushNotificationConfig: unknown;
  GetExtendedAgentCard: AgentCard;
};

const writers: { [O in V03OperationName]: (result: Results[O]) => unknown } = {
  SendMessage: eventToV03,
  SendStreamingMessage: eventToV03,
  GetTask: taskToV03,
  CancelTask: taskToV03,
  SubscribeToTask: eventToV03,
  CreateTaskPushNotificationConfig: pushConfigToV03,
  GetTaskPushNotificationConfig: pushConfigToV03,
  ListTaskPushNotificationConfigs: ({ configs }) => configs.map(pushConfigToV03),
  DeleteTaskPushNotificationConfig: () => null,
  GetExtendedAgentCard: cardToV03,
};

export function resultToV03<O extends V03OperationName>(request: {
  operation: O;
  result: Results[O];
}): unknown {
  const { operation, result } = request;
  return writers[operation](result);
}
