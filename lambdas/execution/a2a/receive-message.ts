/** Accepts a message: it begins a task or answers a task's question. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createParamsError } from "../params-error.ts";
import { deriveMessageTaskId, type ExecutionTask } from "../tasks/execution-task.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { OperationCall } from "./operation.ts";
import { type PushConfigs, withPushConfig } from "./push-configs.ts";
import {
  checkOutputModes,
  fingerprintMessage,
  readAnswerMessage,
  readTaskInput,
} from "./read-message.ts";

type MessageCall = Pick<OperationCall<"SendMessage">, "params" | "version" | "caller">;
export type ReceiveMessage = (call: MessageCall) => Promise<ExecutionTask>;

/**
 * Resolves to the task. The same message again finds the same task; other content under its id is `already_exists`. Rejects with
 * `unavailable` for a new task while the host stops, and with `invalid_state` if the task asks nothing.
 */
export function createReceiveMessage(options: {
  tasks: Tasks;
  pushConfigs: PushConfigs;
  /** True if a repeated message id means the same message. */
  deduplicates: boolean;
  isStopping: () => boolean;
  newId: () => string;
}): ReceiveMessage {
  const { tasks, pushConfigs, deduplicates, isStopping, newId } = options;
  async function begin({ params, version, caller }: MessageCall): Promise<ExecutionTask> {
    checkOutputModes(params.configuration?.acceptedOutputModes);
    if (isStopping()) throw new SekishoError("unavailable");
    const { principal, trace, receivedAtMs } = caller;
    const { message } = params;
    const { messageId, contextId = newId() } = message;
    const taskId = deduplicates ? deriveMessageTaskId({ principal, messageId }) : newId();
    const pushConfig = params.configuration?.taskPushNotificationConfig;
    const config = pushConfigs.read({ taskId, config: pushConfig, version });
    const input = readTaskInput({ message, contextId });
    const asker =
      caller.verifyAsker &&
      (await caller.verifyAsker({ team: input.team_id, user: input.user_id }));
    const task = await tasks.submit({
      principal,
      asker,
      taskId,
      requestId: messageId,
      fingerprint: fingerprintMessage(message),
      input,
      trace: trace ?? createTrace(),
      receivedAtMs,
      a2a: {
        contextId,
        message: { ...message, taskId, contextId },
        pushConfigs: config && [config],
      },
    });
    return config ? pushConfigs.attach({ task, config }) : task;
  }

  async function continueTask({
    params,
    version,
    caller,
    taskId,
  }: MessageCall & { taskId: string }): Promise<ExecutionTask> {
    checkOutputModes(params.configuration?.acceptedOutputModes);
    const { principal } = caller;
    const { message, configuration } = params;
    const { question, a2a } = await tasks.find({ principal, taskId });
    const { contextId = a2a?.contextId } = message;
    if (contextId !== a2a?.contextId) {
      throw createParamsError([
        { path: ["message", "contextId"], message: "is not the context of the task" },
      ]);
    }
    const pushConfig = configuration?.taskPushNotificationConfig;
    const config = pushConfigs.read({ taskId, config: pushConfig, version });
    const answer = readAnswerMessage({ message, question });
    const asker = caller.verifyAsker && (await caller.verifyAsker({ user: answer.user_id }));
    const task = await tasks.answer({
      ...{ principal, taskId, asker, answer },
      isNew: !deduplicates,
      message: { ...message, contextId },
      ...(config && { alongside: withPushConfig(config) }),
    });
    return config ? pushConfigs.attach({ task, config }) : task;
  }

  return (call) => {
    const { taskId } = call.params.message;
    return taskId === undefined ? begin(call) : continueTask({ ...call, taskId });
  };
}
