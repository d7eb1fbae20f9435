/**
 * Handles what people do in Slack other than to write: click a button, submit a form, choose the shortcut, open a conversation or the App
 * Home, and press Slack's stop button.
 */

import type { TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { Actor, Person } from "../gate/border.ts";
import type { Gate } from "../gate/gate.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import type { ButtonClickRefusal } from "../slack/messages/question.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { encodeQueueMessage } from "../task/encode-message.ts";
import type {
  ButtonClick,
  ConversationOpened,
  FormSubmitted,
  Installation,
  Interaction,
  SessionStopped,
} from "../task/messages.ts";
import { installationOf, personKeyOf, queueGroupOf, type Task, threadRefOf } from "../task/task.ts";
import { createHandleShortcut, giveForm, openForm } from "./modals.ts";
import type { PublishHome } from "./overview.ts";
import { heldDelayMs, type Notify, type Questions } from "./questions.ts";
import type { RetryByClick } from "./retry-click.ts";
import type { Threads } from "./threads.ts";
import type { Votes } from "./votes.ts";

export type HandleInteraction = (request: {
  interaction: Interaction;
  signal: AbortSignal;
}) => Promise<void>;

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
  publishHome: PublishHome;
  /** Suggested in a newly opened conversation. */
  prompts: readonly { title: string; message: string }[];
  log: Log;
  now: () => number;
};

/** The handler rejects if the store, the queue or the gate is unavailable, and may then be repeated. */
export function createHandleInteraction(options: Options): HandleInteraction {
  const handleButtonClick = createHandleButtonClick(options);
  const handleFormSubmitted = createHandleFormSubmitted(options);
  const handleShortcut = createHandleShortcut(options);
  const handleSessionStopped = createHandleSessionStopped(options);
  const handle: HandleInteraction = ({ interaction, signal }) => {
    switch (interaction.type) {
      case "button_click":
        return handleButtonClick({ buttonClick: interaction, signal });
      case "form_submitted":
        return handleFormSubmitted({ form: interaction, signal });
      case "shortcut_used":
        return handleShortcut({ shortcut: interaction, signal });
      case "conversation_opened":
        return suggestPrompts(options, { conversation: interaction, signal });
      case "home_opened": {
        const { team, enterprise, user, userTeam, requestId } = interaction;
        return options.publishHome({
          installation: { team, enterprise },
          actor: { user, userTeam },
          requestId,
          signal,
        });
      }
      case "session_stopped":
        return handleSessionStopped({ stopped: interaction, signal });
    }
  };
  return limitPerPerson(options, handle);
}

/** So many interactions of one person are handled at once in a process. */
const maxAtOncePerPerson = 4;

/**
 * While Slack is slow, an interaction holds one of the process's slots for seconds. Without a limit, one person who clicks again and again
 * would delay everybody's answers. A click or a form beyond the limit comes again later, and what the person can simply repeat is dropped.
 */
function limitPerPerson(
  { queue, log, now }: Options,
  handle: HandleInteraction,
): HandleInteraction {
  const underWay = new Map<string, number>();
  return async (request) => {
    const { interaction } = request;
    const { type, team, user, requestId } = interaction;
    const person = personKeyOf({ team, user });
    const count = underWay.get(person) ?? 0;
    if (count >= maxAtOncePerPerson && type !== "session_stopped") {
      if (!("atMs" in interaction))
        return log.info("interaction_dropped", { request_id: requestId, event: type, user });
      const delayMs = heldDelayMs(now() - interaction.atMs);
      return queue.send({ body: JSON.stringify(interaction), delayMs, group: team });
    }
    underWay.set(person, count + 1);
    try {
      await handle(request);
    } finally {
      const remainingCount = (underWay.get(person) ?? 1) - 1;
      if (remainingCount > 0) underWay.set(person, remainingCount);
      else underWay.delete(person);
    }
  };
}

/** Tells the person privately why the click had no effect. Best effort, and limited. */
async function notifyRefusal(
  { gate, notify, slack, text }: Pick<Options, "gate" | "notify" | "slack" | "text">,
  {
    task,
    actor,
    refusal,
    signal,
  }: { task: Task; actor: Actor; refusal: ButtonClickRefusal; signal: AbortSignal },
): Promise<void> {
  const { user } = actor;
  const threadRef = threadRefOf(task);
  const call = { installation: installationOf(task), user, requestId: task.id };
  const post = async (deadline: AbortSignal) => {
    const locale = await gate.localeOf({ ...call, signal: deadline }).catch(() => undefined);
    const notice = text.buttonClickRefused({ refusal, locale });
    await slack.postEphemeral({ ...call, ...threadRef, text: notice, signal: deadline });
  };
  await notify({
    task,
    actor,
    kind: refusal.type,
    threadTs: threadRef.threadTs,
    signal,
    post,
  }).catch(() => {});
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
function createHandleButtonClick(options: Options) {
  const { store, queue, gate, questions, takeVote, retryByClick, log, now } = options;
  async function cancel({ task, person, signal }: Click): Promise<ButtonClickRefusal | undefined> {
    if (!(await gate.mayCancel({ task, person, signal }))) return { type: "not_yours" };
    if (task.outcome !== undefined || task.state === "done") return { type: "over" };
    const body = encodeQueueMessage({ type: "cancel", requestId: task.id });
    await queue.send({ body, group: queueGroupOf(task) });
    return undefined;
  }

  async function answer({
    buttonClick,
    task,
    signal,
  }: Click): Promise<ButtonClickRefusal | undefined> {
    if (buttonClick.button.type !== "answer") return undefined;
    const { question: index, option } = buttonClick.button;
    // A question that is over has no options any more, but its answer is still recorded.
    const { question: currentQuestion } = task;
    const isOffered =
      currentQuestion?.index !== index ||
      currentQuestion.answer !== undefined ||
      option < currentQuestion.options.length;
    if (!isOffered) return { type: "over" };
    const givenAnswer = { user: buttonClick.user, atMs: buttonClick.atMs, option };
    const { userTeam } = buttonClick;
    const decision = await questions.give({
      requestId: task.id,
      index,
      answer: givenAnswer,
      userTeam,
      signal,
    });
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

  async function vote({
    buttonClick,
    task,
    person,
    signal,
  }: Click): Promise<ButtonClickRefusal | undefined> {
    const { button, atMs } = buttonClick;
    if (button.type !== "feedback") return undefined;
    const refusal = await takeVote({ task, person, click: { atMs, vote: button.vote }, signal });
    return refusal === "held" ? handleLater({ buttonClick, task }) : refusal;
  }

  async function retry({
    buttonClick,
    task,
    person,
    signal,
  }: Click): Promise<ButtonClickRefusal | undefined> {
    const refusal = await retryByClick({ task, person, atMs: buttonClick.atMs, signal });
    return refusal === "held" ? handleLater({ buttonClick, task }) : refusal;
  }

  /** A worker acts on the task, and would lose its step if the record changed. */
  async function handleLater({
    buttonClick,
    task,
  }: Pick<Click, "buttonClick" | "task">): Promise<undefined> {
    const delayMs = heldDelayMs(now() - buttonClick.atMs);
    await queue.send({ body: encodeQueueMessage(buttonClick), delayMs, group: queueGroupOf(task) });
  }

  async function open({
    buttonClick,
    task,
    person,
    signal,
  }: Click): Promise<ButtonClickRefusal | undefined> {
    const { button } = buttonClick;
    if (button.type !== "open_form") return undefined;
    return openForm(options, { button, task, person, signal });
  }

  function handle(click: Click): Promise<ButtonClickRefusal | undefined> {
    switch (click.buttonClick.button.type) {
      case "cancel":
        return cancel(click);
      case "answer":
        return answer(click);
      case "feedback":
        return vote(click);
      case "retry":
        return retry(click);
      case "open_form":
        return open(click);
    }
  }

  return async ({
    buttonClick,
    signal,
  }: {
    buttonClick: ButtonClick;
    signal: AbortSignal;
  }): Promise<void> => {
    const fields = {
      request_id: buttonClick.requestId,
      operation: buttonClick.button.type,
      user: buttonClick.user,
    };
    const task = await store.get({ id: buttonClick.requestId });
    if (task === undefined || !isShownTo(task, buttonClick))
      return log.warn("button_click_without_task", fields);
    const { user, userTeam } = buttonClick;
    const actor = { user, userTeam };
    const person = await gate.identify({ task, actor, signal });
    const refusal = await handle({ buttonClick, task, person, signal });
    log.info("button_clicked", {
      ...fields,
      trace_id: readTraceId(task.trace),
      reason: refusal?.type,
    });
    if (buttonClick.channel === undefined) {
      const { requestId } = buttonClick;
      const canceling = refusal === undefined ? requestId : undefined;
      // In an organization, a click may name another workspace than the view was made for.
      await options.publishHome({
        installation: installationOf(task),
        actor,
        requestId,
        canceling,
        signal,
      });
    } else if (refusal !== undefined) {
      await notifyRefusal(options, { task, actor, refusal, signal });
    }
  };
}

/** A button in another channel than the task's posts was not posted by Sekisho. The App Home shows people their own tasks only. */
function isShownTo(task: Task, { channel, user, ...installation }: ButtonClick): boolean {
  if (channel !== undefined) return threadRefOf(task).channel === channel;
  return task.message.user === user && isOfInstallation(task, installation);
}

function createHandleFormSubmitted(options: Options) {
  const { store, log } = options;
  return async ({ form, signal }: { form: FormSubmitted; signal: AbortSignal }): Promise<void> => {
    const fields = { request_id: form.requestId, operation: "form", user: form.user };
    const task = await store.get({ id: form.requestId });
    if (task === undefined) return log.warn("button_click_without_task", fields);
    const refusal = await giveForm(options, { form, task, signal });
    log.info("button_clicked", {
      ...fields,
      trace_id: readTraceId(task.trace),
      reason: refusal?.type,
    });
    if (refusal === undefined) return;
    const actor = { user: form.user, userTeam: form.userTeam };
    await notifyRefusal(options, { task, actor, refusal, signal });
  };
}

type Click = { buttonClick: ButtonClick; task: Task; person: Person; signal: AbortSignal };

/** Suggests the configured prompts in a newly opened conversation. Best effort. */
async function suggestPrompts(
  { slack, prompts }: Options,
  { conversation, signal }: { conversation: ConversationOpened; signal: AbortSignal },
): Promise<void> {
  if (prompts.length === 0) return;
  const { team, enterprise, channel, requestId } = conversation;
  const installation = { team, enterprise };
  const request = { installation, channel, prompts, requestId, signal };
  await slack.suggestPrompts(request).catch(() => {});
}

/** An event of another installation is not about this task, whatever channel it names. Those of an organization share its installation. */
function isOfInstallation({ message }: Task, { team, enterprise }: Installation): boolean {
  return message.enterprise === enterprise && (enterprise !== undefined || message.team === team);
}

/** True if nobody heard the `ts` of a stream that began, or if a worker has not saved it yet, and may have died before that. */
function mayHaveUnrecordedStream({ stream, wait, lease }: Task): boolean {
  return stream?.inDoubt === true || (wait !== undefined && lease !== undefined);
}

/**
 * Cancels the tasks of the thread that the person may cancel. A task whose stream Slack has stopped is canceled for all of the workspace's
 * people, because everybody sees that it was stopped; after a stop by somebody else it goes on, and its answer is posted as a whole. The
 * session's status changes when the tasks end, or at once if there are none.
 */
function createHandleSessionStopped(options: Options) {
  const { store, queue, gate, threads, slack, log } = options;

  return async ({
    stopped,
    signal,
  }: {
    stopped: SessionStopped;
    signal: AbortSignal;
  }): Promise<void> => {
    const { team, enterprise, channel, threadTs, user, userTeam, streams, requestId } = stopped;
    const ids = await threads.listTaskIds({ thread: `${channel}/${threadTs}` });
    const storedTasks = await Promise.all(ids.map((id) => store.get({ id })));
    const tasks = storedTasks.filter((task) => task !== undefined);
    const recordedTs = tasks.flatMap(({ stream }) => stream?.messages.map(({ ts }) => ts) ?? []);
    const hasUnrecorded = streams.some((ts) => !recordedTs.includes(ts));
    let refusedTask: Task | undefined;
    let cancelCount = 0;
    const actor = { user, userTeam };
    for (const task of tasks) {
      if (task.outcome !== undefined || task.state === "done") continue;
      if (!isOfInstallation(task, { team, enterprise })) continue;
      const isOwn = task.stream?.messages.some(({ ts }) => streams.includes(ts)) === true;
      const isStreamStopped = isOwn || (hasUnrecorded && mayHaveUnrecordedStream(task));
      const person = await gate.identify({ task, actor, signal });
      const isFromHere = person.external !== "people";
      if ((isStreamStopped && isFromHere) || (await gate.mayCancel({ task, person, signal }))) {
        await queue.send({
          body: encodeQueueMessage({ type: "cancel", requestId: task.id }),
          group: queueGroupOf(task),
        });
        cancelCount += 1;
      } else refusedTask = task;
    }
    log.info("session_stopped", { request_id: requestId, user, count: cancelCount });
    if (refusedTask !== undefined && cancelCount === 0) {
      await notifyRefusal(options, {
        task: refusedTask,
        actor,
        refusal: { type: "not_yours" },
        signal,
      });
    }
    if (ids.length > 0) return;
    const session = {
      installation: { team, enterprise },
      channel,
      threadTs,
      user,
      requestId,
      signal,
    };
    await slack.setSession({ ...session, status: "active" }).catch(() => {});
  };
}
