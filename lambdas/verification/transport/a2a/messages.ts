/** Builds the messages that Sekisho sends (a task's first message, a reply to a question), and remembers where each was sent. */
import { createApprovalPart } from "@sekisho/contracts/a2a/adk-part.ts";
import {
  hitlKey,
  questionKey,
  slackMessageKey,
  taskKey,
} from "@sekisho/contracts/a2a/extension.ts";
import { createFieldsPart } from "@sekisho/contracts/a2a/fields-part.ts";
import type { OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import type { Message, Part } from "@sekisho/contracts/a2a/part.ts";
import type { ReadTask } from "@sekisho/contracts/a2a/read-task.ts";
import { isUndelivered } from "@sekisho/contracts/certainty.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { ExecuteTaskParams, ParamsOf } from "@sekisho/contracts/methods.ts";
import { createHitlResponse } from "./hitl.ts";

type SendParams = OperationParams<"SendMessage">;

/** How many messages of a task's history are requested. The agent's last text may be in the history only. */
export const historyLength = 5;

/** `messageId` is the request id, `contextId` the session id. The params' `bot_token` is never sent over A2A. */
export function createTaskMessage(options: {
  messageId: string;
  contextId: string;
  params: ExecuteTaskParams;
}): SendParams {
  const { messageId, contextId } = options;
  const { text, attachments = [], timeout_ms } = options.params;
  const { channel, thread_ts, team_id, user_id, correlation_id, history, context } = options.params;
  const files = attachments.map(({ url, mimetype, name }) => ({
    url,
    mediaType: mimetype || undefined,
    filename: name || undefined,
  }));
  const parts = [...(text === "" ? [] : [{ text }]), ...files];
  const metadata = {
    [slackMessageKey]: { channel, thread_ts, team_id, user_id, correlation_id, history, context },
    ...(timeout_ms !== undefined && { [taskKey]: { timeout_ms } }),
  };
  return createSendParams({ messageId, contextId, parts, metadata });
}

/**
 * `task` is the task as it asks, for agents that ask in the structure of kagent's extension. Throws `invalid_state` if it no longer asks that.
 * Otherwise sends no context id, because the agent knows the task's own.
 */
export function createAnswerParams(options: {
  messageId: string;
  params: ParamsOf<"answer_task">;
  task?: ReadTask | undefined;
}): SendParams {
  const { messageId, task } = options;
  const { task_id: taskId, option_id, text, fields, user_id, approved_by } = options.params;
  const sender = { ...(user_id !== undefined && { [slackMessageKey]: { user_id } }) };
  const response = task && createHitlResponse({ task, params: options.params });
  if (response !== undefined) {
    const metadata = { ...sender, [hitlKey]: response.payload };
    const parts = [{ text: response.text }];
    const about = { taskId, contextId: task?.contextId, extensions: [hitlKey] };
    return createSendParams({ messageId, ...about, parts, metadata });
  }
  const metadata = {
    ...sender,
    ...(option_id !== undefined && {
      [questionKey]: { option_id, ...(approved_by && { approved_by }) },
    }),
  };
  const approval = option_id === undefined ? undefined : createApprovalPart(option_id);
  const data = [fields && createFieldsPart(fields), approval].filter((part) => part !== undefined);
  const answerText = text ?? (approval === undefined ? option_id : undefined);
  const parts = [
    ...(answerText === undefined && data.length > 0 ? [] : [{ text: answerText ?? "" }]),
    ...data,
  ];
  return createSendParams({ messageId, taskId, parts, metadata });
}

function createSendParams(
  message: Pick<Message, "messageId" | "metadata"> & Partial<Message> & { parts: Part[] },
): SendParams {
  return {
    message: { role: "ROLE_USER", ...message },
    configuration: { returnImmediately: true, historyLength },
  };
}

/** Older messages are never sent again. */
const maxMessages = 1000;

export type SentMessages = {
  /**
   * `isUntouched` is true for an answer that says that nothing was processed. Rejects like `post`. Rejects with `ambiguous` instead of
   * posting to another interface.
   */
  send<T>(request: {
    messageId: string;
    interfaceKey: string;
    post: () => Promise<T>;
    isUntouched: (answer: T) => boolean;
  }): Promise<T>;
};

/** Remembers per process to which interface each message was sent, so that no message goes to two of them. */
export function createSentMessages(): SentMessages {
  const interfaceKeys = new Map<string, string>();

  return {
    async send({ messageId, interfaceKey, post, isUntouched }) {
      const earlierKey = interfaceKeys.get(messageId);
      if (earlierKey !== undefined && earlierKey !== interfaceKey) {
        const cause = new Error("the message may have arrived at another interface of the agent");
        throw new SekishoError("ambiguous", { cause });
      }
      const [oldestId] = interfaceKeys.keys();
      if (interfaceKeys.size >= maxMessages && oldestId !== undefined)
        interfaceKeys.delete(oldestId);
      interfaceKeys.set(messageId, interfaceKey);
      // An earlier try may have arrived, so its interface stays remembered.
      const forget = () => earlierKey === undefined && interfaceKeys.delete(messageId);
      try {
        const answer = await post();
        if (isUntouched(answer)) forget();
        return answer;
      } catch (error) {
        if (error instanceof SekishoError && isUndelivered(error)) forget();
        throw error;
      }
    },
  };
}
