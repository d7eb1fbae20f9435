/** Creates the input of an agent: the task, and the ids of its context. */
import type { Part } from "@sekisho/contracts/a2a/part.ts";
import type { AgentContext, AgentTask } from "../agents/agent.ts";
import type { AskerToken } from "../received-asker.ts";
import {
  deriveCallerId,
  deriveConversationId,
  type ExecutionTask,
  type TaskInput,
} from "../tasks/execution-task.ts";

/** The agent's input, with the token that the record does not store. */
export type RunInput = TaskInput & { bot_token?: string };

/** The parts of a Slack message are its text and its attachments. The session id is not passed on, because a caller can send any value. */
export function createAgentTask(options: {
  params: RunInput;
  answers: ExecutionTask["answers"];
}): AgentTask {
  const { answers = [] } = options;
  const { parts, text, attachments = [], session_id: _sessionId, ...params } = options.params;
  const files = attachments.map(({ url, name, mimetype }) => ({
    url,
    filename: name,
    mediaType: mimetype,
  }));
  const messageParts: Part[] = [...(text === "" ? [] : [{ text }]), ...files];
  const agentAnswers = answers.map(
    ({ id: _id, questionId: _questionId, fingerprint: _fingerprint, ...answer }) => answer,
  );
  return {
    ...params,
    text,
    ...(attachments.length > 0 && { attachments }),
    parts: parts ?? messageParts,
    answers: agentAnswers,
  };
}

type AgentIds = Pick<AgentContext, "requestId" | "taskId" | "messageId" | "contextId" | "caller">;

/** The caller's own id of the conversation. */
export function readSession(options: { task: ExecutionTask; params: RunInput }) {
  return options.task.a2a?.contextId ?? options.params.session_id;
}

/** The ids of a caller and of a conversation are derived, so that an agent never gets the caller's own text. */
export function createAgentIds(options: { task: ExecutionTask; params: RunInput }): AgentIds {
  const { requestId, principal, id: taskId, answers } = options.task;
  const conversation = readSession(options);
  return {
    requestId: String(requestId),
    taskId,
    messageId: answers?.at(-1)?.id ?? String(requestId),
    contextId:
      conversation === undefined ? undefined : deriveConversationId({ principal, conversation }),
    caller: deriveCallerId(principal),
  };
}

/** Adds who asked for the task. The token is there until it expires, so that an agent never exchanges one that is refused. */
export function addAsker(options: {
  context: AgentContext;
  asker: ExecutionTask["asker"];
  askerToken: AskerToken | undefined;
  now: () => number;
}): AgentContext {
  const { context, asker, askerToken, now } = options;
  if (asker === undefined) return context;
  return {
    ...context,
    asker,
    get askerToken() {
      return askerToken !== undefined && now() < askerToken.expiresAtMs
        ? askerToken.token
        : undefined;
    },
  };
}
