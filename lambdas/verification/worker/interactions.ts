/** Handles what people do in Slack other than to write: click a button, open a conversation, and press Slack's stop button. */
import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { readTraceId } from "../../shared/telemetry/telemetry.ts";
import type { Gate } from "../gate/gate.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import type { ButtonClickRefusal } from "../slack/messages/question.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import type { ButtonClick, ConversationOpened, Interaction, SessionStopped } from "../task/messages.ts";
import { installationOf, queueGroupOf, type Task, threadRefOf } from "../task/task.ts";
import { heldDelayMs, type Notify, type Questions } from "./questions.ts";
import type { RetryByClick } from "./retry-click.ts";
import type { Threads } from "./threads.ts";
import type { Votes } from "./votes.ts";

export type HandleInteraction = (request: { interaction: Interaction; signal: AbortSignal }) => Promise<void>;

type Options = {
  store: TaskStore<Task>;
  queue: TaskQueue;
  gate: Gate;
  questions: Questions;
  takeVote: Votes["take"];
  retryByClick: RetryByClick;
  threads: Threads;
  notify: Notify;
  slack: SlackApi;
  text: TaskText;
  /** Suggested in a newly opened conversation. */
  prompts: readonly { title: string; message: string }[];
  log: Log;
  now: () => number;
};

/** The handler rejects if the store, the queue or the gate is unavailable, and may then be repeated. */
export function createHandleInteraction(options: Options): HandleInteraction {
  const handleButtonClick = createHandleButtonClick(options);
  const handleSessionStopped = createHandleSessionStopped(options);
  return ({ interaction, signal }) => {
    switch (interaction.type) {
      case "button_click":
        return handleButtonClick({ buttonClick: interaction, signal });
      case "conversation_opened":
        return suggestPrompts(options, { opened: interaction, signal });
      case "session_stopped":
        return handleSessionStopped({ stopped: interaction, signal });
    }
  };
}

/** Tells the person privately why the click had no effect. Best effort, and limited. */
async function notifyRefusal(
  { gate, notify, slack, text }: Pick<Options, "gate" | "notify" | "slack" | "text">,
  { task, user, refusal, signal }: { task: Task; user: string; refusal: ButtonClickRefusal; signal: AbortSignal },
): Promise<void> {
  const threadRef = threadRefOf(task);
  const call = { installation: installationOf(task), user, requestId: task.id };
  const post = async (deadline: AbortSignal) => {
    const locale = await gate.localeOf({ ...call, signal: deadline }).catch(() => undefined);
    const notice = text.buttonClickRefused({ refusal, locale });
    await slack.postEphemeral({ ...call, ...threadRef, text: notice, signal: deadline });
  };
  await notify({ task, user, kind: refusal.type, threadTs: threadRef.threadTs, signal, post }).catch(() => {});
}

function createHandleButtonClick(options: Options) {
  const { store, queue, gate, questions, takeVote, retryByClick, log, now } = options;
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
      case "held":
        return handleLater({ buttonClick, task });
      case "says_nothing":
        return { type: "over" };
      case "not_yours":
        return { type: "not_yours" };
      default:
        return decision;
    }
  }

  async function vote({ buttonClick, task, signal }: Clicked): Promise<ButtonClickRefusal | undefined> {
    const { button, user, atMs } = buttonClick;
    if (button.type !== "feedback") return undefined;
    if (isFromOtherWorkspace(buttonClick, task)) return { type: "not_yours" };
    const click = { user, atMs, vote: button.vote };
    const refusal = await takeVote({ task, click, external: externalOf(buttonClick, task), signal });
    return refusal === "held" ? handleLater({ buttonClick, task }) : refusal;
  }

  async function retry({ buttonClick, task, signal }: Clicked): Promise<ButtonClickRefusal | undefined> {
    if (isFromOtherWorkspace(buttonClick, task)) return { type: "not_yours" };
    const refusal = await retryByClick({ task, click: buttonClick, signal });
    return refusal === "held" ? handleLater({ buttonClick, task }) : refusal;
  }

  /** A worker acts on the task, and would lose its step if the record changed. */
  async function handleLater({ buttonClick, task }: Pick<Clicked, "buttonClick" | "task">): Promise<undefined> {
    const delayMs = heldDelayMs(now() - buttonClick.atMs);
    await queue.send({ body: JSON.stringify(buttonClick), delayMs, group: queueGroupOf(task) });
  }

  function handle(clicked: Clicked): Promise<ButtonClickRefusal | undefined> {
    switch (clicked.buttonClick.button.type) {
      case "cancel":
        return cancel(clicked);
      case "answer":
        return answer(clicked);
      case "feedback":
        return vote(clicked);
      case "retry":
        return retry(clicked);
    }
  }

  return async ({ buttonClick, signal }: { buttonClick: ButtonClick; signal: AbortSignal }): Promise<void> => {
    const fields = { request_id: buttonClick.requestId, operation: buttonClick.button.type, user: buttonClick.user };
    const task = await store.get({ id: buttonClick.requestId });
    // A button in another channel than the task's posts was not posted by Sekisho.
    if (task === undefined || threadRefOf(task).channel !== buttonClick.channel)
      return log.warn("button_click_without_task", fields);
    const refusal = await handle({ buttonClick, task, signal });
    log.info("button_clicked", { ...fields, trace_id: readTraceId(task.trace), reason: refusal?.type });
    if (refusal !== undefined) await notifyRefusal(options, { task, user: buttonClick.user, refusal, signal });
  };
}

/** Slack does not say with a click whether the channel is shared, so the task's message decides that. */
function externalOf({ userTeam }: ButtonClick, { message }: Task): Task["message"]["external"] {
  if (message.external === undefined) return undefined;
  return userTeam === message.team || userTeam === message.enterprise ? "channels" : "people";
}

/** In a channel that is shared with other organizations, the rules decide about people of other workspaces. */
function isFromOtherWorkspace({ team, enterprise }: ButtonClick, { message }: Task): boolean {
  const isSameOrganization = enterprise !== undefined && enterprise === message.enterprise;
  return team !== message.team && !isSameOrganization && message.external === undefined;
}

type Clicked = { buttonClick: ButtonClick; task: Task; signal: AbortSignal };

/** Suggests the configured prompts in a newly opened conversation. Best effort. */
async function suggestPrompts(
  { slack, prompts }: Options,
  { opened, signal }: { opened: ConversationOpened; signal: AbortSignal },
): Promise<void> {
  const { team, enterprise, channel, threadTs, requestId } = opened;
  if (prompts.length === 0) return;
  const request = { installation: { team, enterprise }, channel, threadTs, prompts, requestId, signal };
  await slack.suggestPrompts(request).catch(() => {});
}

/**
 * Cancels the tasks of the thread that the person may cancel. A task whose stream Slack has stopped is canceled in any case, because
 * everybody sees that it was stopped. The session's status changes when the tasks end, or at once if there are none.
 */
function createHandleSessionStopped(options: Options) {
  const { store, queue, gate, threads, slack, log } = options;

  return async ({ stopped, signal }: { stopped: SessionStopped; signal: AbortSignal }): Promise<void> => {
    const { team, enterprise, channel, threadTs, user, streams, requestId } = stopped;
    const ids = await threads.listed({ thread: `${channel}/${threadTs}` });
    let refused: Task | undefined;
    let canceled = 0;
    for (const id of ids) {
      const task = await store.get({ id });
      if (task === undefined || task.outcome !== undefined || task.state === "done") continue;
      const isStreamStopped = task.stream?.messages.some(({ ts }) => streams.includes(ts)) === true;
      if (isStreamStopped || (await gate.mayCancel({ task, user, signal }))) {
        await queue.send({ body: JSON.stringify({ type: "cancel", requestId: id }), group: queueGroupOf(task) });
        canceled += 1;
      } else refused = task;
    }
    log.info("session_stopped", { request_id: requestId, user, count: canceled });
    if (refused !== undefined && canceled === 0) {
      await notifyRefusal(options, { task: refused, user, refusal: { type: "not_yours" }, signal });
    }
    if (ids.length > 0) return;
    const session = { installation: { team, enterprise }, channel, threadTs, user, requestId, signal };
    await slack.setSession({ ...session, status: "active" }).catch(() => {});
  };
}
