/** The type of an A2A operation, whose params and results are those of 1.0. It may reject with a SekishoError. */
import type { AgentCard } from "@sekisho/contracts/a2a/card.ts";
import type {
  A2aVersion,
  OperationName,
  OperationParams,
} from "@sekisho/contracts/a2a/operations.ts";
import type { PushConfig } from "@sekisho/contracts/a2a/push.ts";
import type { A2aTask, SendResult, StreamEvent } from "@sekisho/contracts/a2a/task.ts";
import type { AuthenticatedCaller, Exchange } from "../exchange.ts";

/** `client` opens the signal that aborts when the client disconnects. */
export type OperationCall<O extends OperationName> = {
  params: OperationParams<O>;
  version: A2aVersion;
  caller: AuthenticatedCaller;
  client: Pick<Exchange, "openSignal">;
};

type TaskPushConfig = PushConfig & { taskId: string };

/** A page of tasks (A2A 1.0: ListTasksResponse). */
export type TaskPage = {
  tasks: A2aTask[];
  nextPageToken: string;
  pageSize: number;
  totalSize: number;
};

type Results = {
  SendMessage: SendResult;
  SendStreamingMessage: AsyncIterable<StreamEvent>;
  SubscribeToTask: AsyncIterable<StreamEvent>;
  GetTask: A2aTask;
  ListTasks: TaskPage;
  CancelTask: A2aTask;
  CreateTaskPushNotificationConfig: TaskPushConfig;
  GetTaskPushNotificationConfig: TaskPushConfig;
  ListTaskPushNotificationConfigs: { configs: TaskPushConfig[] };
  DeleteTaskPushNotificationConfig: Record<string, never>;
  GetExtendedAgentCard: AgentCard;
};

export type OperationHandler<O extends OperationName> = (
  call: OperationCall<O>,
) => Promise<Results[O]>;
export type OperationHandlers = { [O in OperationName]: OperationHandler<O> };
