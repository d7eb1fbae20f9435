/**
 * Opens the bot's modals, and takes the form that a person has submitted. The worker opens them, because the ingress has no bot token. Slack
 * allows three seconds between the click and the modal; if they are over, the person reads so and clicks again.
 */

import { checkFieldValues } from "@sekisho/contracts/field-values.ts";
import type { TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { Person } from "../gate/border.ts";
import type { Gate } from "../gate/gate.ts";
import { type ModalView, type SlackApi, SlackError } from "../slack/api/slack.ts";
import {
  buildAskAboutModal,
  buildShortcutRefusalModal,
  toFieldValues,
} from "../slack/messages/modal.ts";
import type { ButtonClickRefusal } from "../slack/messages/question.ts";
import type { TaskText } from "../slack/messages/task-text.ts";
import { findReplyRefusal } from "../task/asking.ts";
import { encodeQueueMessage } from "../task/encode-message.ts";
import type { ButtonClick, FormSubmitted, ShortcutUsed } from "../task/messages.ts";
import {
  installationOf,
  type Locale,
  queueGroupOf,
  receivedTask,
  type Task,
} from "../task/task.ts";
import { isSlackError } from "./own-posts.ts";
import { heldDelayMs, type Notify, type Questions } from "./questions.ts";

export type ModalOptions = {
  store: Pick<TaskStore<Task>, "get">;
  queue: TaskQueue;
  gate: Gate;
  questions: Pick<Questions, "give">;
  notify: Notify;
  slack: SlackApi;
  text: TaskText;
  log: Log;
  now: () => number;
};

/** The wait for the language is short, because the trigger is good for three seconds only. */
const localeTimeoutMs = 700;

type PersonQuery = Parameters<Gate["localeOf"]>[0];

async function localeOf(
  { gate }: Pick<ModalOptions, "gate">,
  query: PersonQuery,
): Promise<Locale | undefined> {
  const signal = AbortSignal.any([query.signal, AbortSignal.timeout(localeTimeoutMs)]);
  return gate.localeOf({ ...query, signal }).catch(() => undefined);
}

type OpenFormButton = Extract<ButtonClick["button"], { type: "open_form" }>;

type FormClick = { button: OpenFormButton; task: Task; person: Person; signal: AbortSignal };

/**
 * Opens the modal with the question's fields or with its link to sign in, for a person who may answer it. Resolves to why it is not opened.
 */
export async function openForm(
  options: Pick<ModalOptions, "gate" | "slack" | "text" | "now">,
  request: FormClick,
): Promise<ButtonClickRefusal | undefined> {
  const { gate, text, now } = options;
  const { button, task, person, signal } = request;
  const { question: index } = button;
  const isSignIn = task.question?.index === index && task.question.signIn !== undefined;
  // Nobody else learns anything about a link to sign in, not even that it is over.
  if (isSignIn && !(await gate.mayAnswer({ task, person, signal }))) return { type: "not_yours" };
  const refusal = findReplyRefusal({ task, index, nowMs: now() });
  if (refusal !== undefined && isSignIn) {
    const view = text.noLinkModal({ task, refusal, nowMs: now() });
    return (await openView(options, { ...request, view })) === undefined ? undefined : refusal;
  }
  if (refusal !== undefined) return refusal;
  if (!isSignIn && !(await gate.mayAnswer({ task, person, signal }))) return { type: "not_yours" };
  const installation = installationOf(task);
  const { user } = person;
  const isAsker = user === task.message.user && task.locale !== undefined;
  const locale = isAsker
    ? task.locale
    : await localeOf(options, { installation, user, requestId: task.id, signal });
  const view = text.questionModal({ task, locale });
  return view === undefined ? { type: "over" } : openView(options, { ...request, view });
}

async function openView(
  { slack }: Pick<ModalOptions, "slack">,
  { button, task, view, signal }: FormClick & { view: ModalView },
): Promise<ButtonClickRefusal | undefined> {
  if (button.triggerId === undefined) return { type: "form_not_opened" };
  const installation = installationOf(task);
  try {
    await slack.openModal({
      installation,
      requestId: task.id,
      triggerId: button.triggerId,
      view,
      signal,
    });
    return undefined;
  } catch (error) {
    return toOpeningRefusal(error);
  }
}

/** An exchanged trigger has opened the modal already: the queue delivers at least once. */
function toOpeningRefusal(error: unknown): ButtonClickRefusal | undefined {
  if (!(error instanceof SlackError)) throw error;
  if (error.slackError === "exchanged_trigger_id") return undefined;
  return { type: error.slackError === "expired_trigger_id" ? "form_too_late" : "form_not_opened" };
}

type SubmittedForm = { form: FormSubmitted; task: Task; signal: AbortSignal };

/** Gives the values to the task as its answer. Resolves to why they have no effect. */
export async function giveForm(
  { queue, questions, now }: Pick<ModalOptions, "queue" | "questions" | "now">,
  { form, task, signal }: SubmittedForm,
): Promise<ButtonClickRefusal | undefined> {
  const { question } = task;
  const { user, atMs, question: index, submissionId: from } = form;
  // A form of an earlier question has no fields here. It is refused below.
  const { fields = [] } = question?.index === index ? question : {};
  const isSignIn = question?.index === index && question.signIn !== undefined;
  const isFor = isSignIn || question?.index !== index || question.fields !== undefined;
  // The agent has worded its question anew, without a form, while the modal was open.
  if (!isFor && findReplyRefusal({ task, index, nowMs: now() }) === undefined)
    return { type: "past" };
  const checkResult = checkFieldValues({
    fields,
    values: toFieldValues({ fields, values: form.values }),
  });
  // The ingress has checked the inputs, so only a form of another version comes here.
  if ("problems" in checkResult) return { type: "form_not_opened" };
  const reply = isSignIn ? { signedIn: true as const } : { fields: checkResult.values };
  const answer = { user, atMs, ...reply, from };
  const decision = await questions.give({
    requestId: task.id,
    index,
    answer,
    userTeam: form.userTeam,
    signal,
  });
  switch (decision.type) {
    case "taken":
      return undefined;
    case "held": {
      const delayMs = heldDelayMs(now() - atMs);
      await queue.send({ body: encodeQueueMessage(form), delayMs, group: queueGroupOf(task) });
      return undefined;
    }
    case "says_nothing":
      return { type: "over" };
    default:
      return decision;
  }
}

/**
 * Opens the modal of the message shortcut, or one that says why the shortcut cannot be used there. Slack does not say with the shortcut
 * whether the bot is in the channel, and whether the channel is shared with other organizations.
 */
export function createHandleShortcut(options: ModalOptions) {
  const { slack, log } = options;

  return async ({
    shortcut,
    signal,
  }: {
    shortcut: ShortcutUsed;
    signal: AbortSignal;
  }): Promise<void> => {
    const { requestId, team, enterprise, channel, ts, threadTs, actionTs, user, triggerId } =
      shortcut;
    const installation = { team, enterprise };
    const call = { installation, requestId, signal };
    const [info, locale = "en"] = await Promise.all([
      readChannel(slack, { ...call, channel }).catch(ignoreSlackFailure),
      localeOf(options, { ...call, user }),
    ]);
    // Who may ask depends on whether the channel is shared, so nothing is opened without knowing that.
    if (info === undefined) return notifyUnopened(options, { shortcut, locale, signal });
    const external = "refusal" in info || !info.isShared ? undefined : externalOf(shortcut);
    const modal = {
      channel,
      ts,
      ...(threadTs === undefined ? {} : { threadTs }),
      actionTs,
      ...(external === undefined ? {} : { external }),
      locale,
    };
    const view =
      "refusal" in info
        ? buildShortcutRefusalModal({ refusal: info.refusal, locale })
        : buildAskAboutModal(modal);
    const reason = "refusal" in info ? info.refusal : undefined;
    log.info("shortcut_used", { request_id: requestId, team, channel, user, reason });
    try {
      await slack.openModal({ ...call, triggerId, view });
    } catch (error) {
      if (!(error instanceof SlackError)) throw error;
      if (error.slackError !== "exchanged_trigger_id")
        await notifyUnopened(options, { shortcut, locale, signal });
    }
  };
}

type ChannelFacts = { isShared: boolean } | { refusal: "not_in_channel" | "not_set_up" };

function ignoreSlackFailure(error: unknown): undefined {
  if (!(error instanceof SlackError)) throw error;
}

async function readChannel(
  slack: SlackApi,
  request: Parameters<SlackApi["channelInfo"]>[0],
): Promise<ChannelFacts> {
  try {
    const { hasBot, isShared } = await slack.channelInfo(request);
    return hasBot ? { isShared } : { refusal: "not_in_channel" };
  } catch (error) {
    if (!isSlackError(error, ["gone", "refused"])) throw error;
    const isUnscoped = error instanceof SlackError && error.slackError === "missing_scope";
    return { refusal: isUnscoped ? "not_set_up" : "not_in_channel" };
  }
}

/** The gate asks Slack about people whom Slack does not name as the workspace's own. */
function externalOf({ userTeam, team }: ShortcutUsed): "channels" | "people" {
  return userTeam === team ? "channels" : "people";
}

/** Tells the person privately that the modal did not open. Best effort, and limited. */
async function notifyUnopened(
  { notify, slack, text }: ModalOptions,
  { shortcut, locale, signal }: { shortcut: ShortcutUsed; locale: Locale; signal: AbortSignal },
): Promise<void> {
  const { requestId, team, enterprise, channel, user, userTeam, ts, threadTs } = shortcut;
  const actor = { user, userTeam };
  const message = {
    appId: "",
    team,
    enterprise,
    channel,
    user,
    ts,
    direct: channel.startsWith("D"),
    text: "",
  };
  const task = receivedTask({ requestId, receivedAtMs: 0, trace: { traceparent: "" }, message });
  const notice = text.buttonClickRefused({ refusal: { type: "shortcut_not_opened" }, locale });
  const call = {
    installation: { team, enterprise },
    channel,
    threadTs,
    user,
    requestId,
    text: notice,
  };
  const post = (deadline: AbortSignal) => slack.postEphemeral({ ...call, signal: deadline });
  await notify({ task, actor, kind: "shortcut_not_opened", threadTs, signal, post }).catch(
    () => {},
  );
}
