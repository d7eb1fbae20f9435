/** Handles a button click (to cancel, or to answer a question), and a conversation with the assistant that a person opened. */
import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { readTraceId } from "../../shared/telemetry/telemetry.ts";
import type { Gate } from "../gate/gate.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import type { ButtonClickRefusal } from "../slack/messages/question.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import type { ButtonClick, ConversationOpened } from "../task/messages.ts";
import { installationOf, queueGroupOf, type Task, threadRefOf } from "../task/task.ts";
import { heldDelayMs, type Notify, type Questions } from "./questions.ts";

export type HandleButtonClick = (request: { buttonClick: ButtonClick; signal: AbortSignal }) => Promise<void>;

/** The handler rejects if the store, the queue or the gate is unavailable, and may then be repeated. */
export function createHandleButtonClick(options: {
  store: TaskStore<Task>;
  queue: TaskQueue;
  gate: Gate;
  questions: Questions;
  notify: Notify;
  slack: SlackApi;
  text: TaskText;
  log: Log;
  now: () => number;
}): HandleButtonClick {
  const { store, queue, gate, questions, notify, slack, text, log, now } = options;
  async function cancel({ buttonClick, task, signal }: Clicked): Promise<ButtonClickRefusal | undefined> {
    if (!(await gate.mayCancel({ task, user: buttonClick.user, signal }))) return { type: "not_yours" };
    if (task.outcome !== undefined || task.state === "done") return { type: "over" };
    const body = JSON.stringify({ type: "cancel", requestId: task.id });
    await queue.send({ body, group: queueGroupOf(task) });
    return undefined;
  }

  async function answer({ buttonClick, task, signal }: Clicked): Promise<ButtonClickRefusal | undefined> {
    if (buttonClick.button.type !== "answer") return undefined;
    const { question: index, option } = buttonClick.button;
    // A question that is over has no options any more, but its answer is still recorded.
    const { question: asked } = task;
    const isOffered = asked?.index !== index || asked.answer !== undefined || option < asked.options.length;
    if (!isOffered) return { type: "over" };
    const given = { user: buttonClick.user, atMs: buttonClick.atMs, option };
    const external = externalOf(buttonClick, task);
    const decision = await questions.give({ requestId: task.id, index, answer: given, external, signal });
    switch (decision.type) {
      case "taken":
        return undefined;
      case "held": {
        const delayMs = heldDelayMs(now() - buttonClick.atMs);
        await queue.send({ body: JSON.stringify(buttonClick), delayMs, group: queueGroupOf(task) });
        return undefined;
      }
      case "says_nothing":
        return { type: "over" };
      case "not_yours":
        return { type: "not_yours" };
      default:
        return decision;
    }
  }

  /** Tells the person privately why the click had no effect. Best effort, and limited. */
  async function notifyRefusal({ buttonClick, task, signal }: Clicked, refusal: ButtonClickRefusal): Promise<void> {
    const { user, channel } = buttonClick;
    const { threadTs } = threadRefOf(task);
    const call = { installation: installationOf(task), user, requestId: task.id };
    const post = async (deadline: AbortSignal) => {
      const locale = await gate.localeOf({ ...call, signal: deadline }).catch(() => undefined);
      const notice = text.buttonClickRefused({ refusal, locale });
      await slack.postEphemeral({ ...call, channel, threadTs, text: notice, signal: deadline });
    };
    await notify({ task, user, kind: refusal.type, threadTs, signal, post }).catch(() => {});
  }

  return async ({ buttonClick, signal }) => {
    const fields = { request_id: buttonClick.requestId, operation: buttonClick.button.type, user: buttonClick.user };
    const task = await store.get({ id: buttonClick.requestId });
    // A button in another channel than the task's posts was not posted by Sekisho.
    if (task === undefined || threadRefOf(task).channel !== buttonClick.channel)
      return log.warn("button_click_without_task", fields);
    const clicked = { buttonClick, task, signal };
    const refusal = buttonClick.button.type === "cancel" ? await cancel(clicked) : await answer(clicked);
    log.info("button_clicked", { ...fields, trace_id: readTraceId(task.trace), reason: refusal?.type });
    if (refusal !== undefined) await notifyRefusal(clicked, refusal);
  };
}

/** Slack does not say with a click whether the channel is shared, so the task's message decides that. */
function externalOf({ userTeam }: ButtonClick, { message }: Task): Task["message"]["external"] {
  if (message.external === undefined) return undefined;
  return userTeam === message.team || userTeam === message.enterprise ? "channels" : "people";
}

type Clicked = { buttonClick: ButtonClick; task: Task; signal: AbortSignal };

export type HandleConversationOpened = (request: { opened: ConversationOpened; signal: AbortSignal }) => Promise<void>;

/** Suggests the configured prompts in a newly opened conversation with the assistant. Best effort. */
export function createHandleConversationOpened(options: {
  slack: SlackApi;
  prompts: readonly { title: string; message: string }[];
}): HandleConversationOpened {
  const { slack, prompts } = options;
  return async ({ opened: { team, enterprise, channel, threadTs, requestId }, signal }) => {
    if (prompts.length === 0) return;
    const request = { installation: { team, enterprise }, channel, threadTs, prompts, requestId, signal };
    await slack.suggestPrompts(request).catch(() => {});
  };
}
