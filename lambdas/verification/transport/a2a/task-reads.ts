/** Reads a task of an A2A agent: by its id or its first message, at once or when there is news. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { ParamsOf, TaskResult } from "@sekisho/contracts/methods.ts";
import type { CallOperation } from "./call-operation.ts";
import type { CardSource } from "./card-source.ts";
import { historyLength } from "./messages.ts";
import type { OperationAnswer, PassedResponse, PeerCall, ReceivedSize } from "./post-operation.ts";
import { toZoneResult } from "./task-result.ts";
import { createTaskWatch } from "./watch-task.ts";

type TaskCall = { taskId: string; call: PeerCall };
type PolledTask = { outcome: TaskResult | SekishoError; size: ReceivedSize };

export type TaskReads = {
  /** Finds the task by its id, or by the id of the message that began it. */
  find(
    key: Pick<ParamsOf<"get_task">, "task_id" | "request_id">,
    call: PeerCall,
  ): Promise<{ taskId: string } | PassedResponse>;
  read(request: TaskCall): Promise<OperationAnswer<"GetTask">>;
  /** With `wait_ms`, waits for news if the agent has streams. */
  poll(params: ParamsOf<"get_task">, call: PeerCall): Promise<PolledTask | PassedResponse>;
};

export function createTaskReads(options: { cards: CardSource; ask: CallOperation }): TaskReads {
  const { cards, ask } = options;
  const watch = createTaskWatch({ ask });

  /** Undefined if the agent has no streams, or if its stream cannot tell. */
  async function waitForNews({ taskId, waitMs, call }: TaskCall & { waitMs: number }) {
    if (waitMs === 0) return undefined;
    const { capabilities } = await cards.current(call);
    return capabilities.streaming ? watch.waitForNews({ taskId, waitMs, call }) : undefined;
  }

  const reads: TaskReads = {
    async find({ task_id, request_id = "" }, call) {
      return task_id === undefined
        ? findTaskByMessage({ messageId: request_id, ask, call })
        : { taskId: task_id };
    },
    async read({ taskId, call }) {
      const params = { id: taskId, historyLength };
      const answer = await ask({ operation: "GetTask", params, call });
      if (!("passed" in answer)) requireSameTask(taskId, answer.result.id);
      return answer;
    },
    async poll({ wait_ms: waitMs = 0, ...key }, call) {
      const taskRef = await reads.find(key, call);
      if ("passed" in taskRef) return taskRef;
      const { taskId } = taskRef;
      const watchedTask = await waitForNews({ taskId, waitMs, call });
      if (watchedTask !== undefined) {
        watch.note({ taskId, outcome: watchedTask.outcome });
        return watchedTask;
      }
      const answer = await reads.read({ taskId, call });
      if ("passed" in answer) return answer;
      const { result: task, retryAfterMs } = answer;
      const outcome = toZoneResult({ result: { task }, retryAfterMs });
      watch.note({ taskId, outcome });
      return { outcome, size: answer };
    },
  };
  return reads;
}

/** Refuses a response about another task, because its answer may be for other people. */
export function requireSameTask(
  calledTaskId: string | undefined,
  answeredTaskId: string | undefined,
): void {
  if (calledTaskId === undefined || answeredTaskId === undefined || answeredTaskId === calledTaskId)
    return;
  throw new SekishoError("invalid_response", {
    cause: new Error("the agent answered for another task"),
  });
}

/** The task is among the latest, which come first (A2A 1.0, section 3.1.4). */
const maxPages = 3;
const pageSize = 20;
/** A task's first message is the oldest of its history. */
const listedHistoryLength = 20;

/**
 * Finds a task by the id of its first message. Rejects with `unsupported_operation` if it is not listed. `task_not_found` would be wrong,
 * because it means that the task does not exist, but agents may list a task late, drop its history, or answer without a task.
 */
async function findTaskByMessage(request: {
  messageId: string;
  ask: CallOperation;
  call: PeerCall;
}): Promise<{ taskId: string } | PassedResponse> {
  const { messageId, ask, call } = request;
  let pageToken: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const params = {
      contextId: call.sessionId,
      pageSize,
      pageToken,
      historyLength: listedHistoryLength,
    };
    const answer = await ask({ operation: "ListTasks", params, call }).catch(throwListingFailure);
    if ("passed" in answer) return answer;
    const { tasks, nextPageToken } = answer.result;
    const namedTask = tasks.find((task) =>
      task.history.some((message) => message.messageId === messageId),
    );
    if (namedTask !== undefined) return { taskId: namedTask.id };
    if (nextPageToken === undefined) break;
    pageToken = nextPageToken;
  }
  throw new SekishoError("unsupported_operation");
}

/** A listing that is too large says nothing about the task's own size. */
function throwListingFailure(error: unknown): never {
  if (error instanceof SekishoError && error.reason === "payload_too_large") {
    throw new SekishoError("unsupported_operation", { cause: error });
  }
  throw error;
}
