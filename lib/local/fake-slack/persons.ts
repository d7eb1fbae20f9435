/** The actions of people in the fake Slack. Each action changes the workspace and reaches the app as a signed request. */
import { metadataSchema } from "@sekisho/verification/slack/api/post-keys.ts";
import { escapeMrkdwn } from "@sekisho/verification/slack/markdown/characters.ts";
import { requestIdOf } from "@sekisho/verification/task/routing.ts";
import { type Delivery, sendEvent, sendForm } from "../signed-events.ts";
import { type Alert, toAlertAttachment } from "./alert.ts";
import { listButtons, listVotes } from "./blocks.ts";
import { createChangePayload } from "./change-payload.ts";
import type { FakeSlackFile } from "./files.ts";
import type { FakeSlackMessage } from "./messages.ts";
import {
  createClickForm,
  createCommandForm,
  createEventPayload,
  createHomeClickForm,
  createHomeOpenedPayload,
  createModalClickForm,
  createShortcutForm,
  createStoppedPayload,
  createSubmissionForm,
  type OpenInSlack,
} from "./payloads.ts";
import type { FakeSlackState } from "./state.ts";
import { type FilledIn, readErrorsReply, toViewState } from "./views.ts";
import {
  channels,
  type FakeSlackChannel,
  findFakeChannel,
  findFakePerson,
  findTeamOfChannel,
  otherBot,
  workflow,
  workspace,
} from "./workspace.ts";

export type PostedByFakePerson = {
  message: FakeSlackMessage;
  requestId: string;
  /** Resolves when the event is acknowledged, or Slack has given up. */
  delivered: Promise<Delivery>;
};

export type FileOfPerson = {
  name: string;
  mimetype?: string;
  bytes: Uint8Array;
  access?: FakeSlackFile["access"];
};

/** `files` are uploaded with it, `fileIds` were `uploaded` before. `channel` is the first channel by default. */
type Post = {
  eventsUrl: string;
  text: string;
  channel?: string;
  user?: string;
  threadTs?: string | undefined;
  files?: readonly FileOfPerson[];
  fileIds?: readonly string[];
  /** Messages that the person forwards, from elsewhere. */
  attachments?: FakeSlackMessage["attachments"];
  /** Messages that the person forwards, by reference. `text` is the comment and may be empty. */
  forwards?: readonly { channel: string; ts: string }[];
  /** The person posts through another app, with a token of their own. */
  isThroughApp?: true;
  /** What the person has open. Slack says so of direct messages. */
  open?: readonly OpenInSlack[];
};

type ChangedPost = { eventsUrl: string; channel: string; ts: string };

type PersonsOptions = {
  state: FakeSlackState;
  signingSecret: string;
  retryDelaysMs: readonly number[] | undefined;
  answerTimeoutMs: number | undefined;
  signal: AbortSignal;
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createPersons({
  state,
  signingSecret,
  retryDelaysMs,
  answerTimeoutMs,
  signal,
}: PersonsOptions) {
  const { messages, files: store, now } = state;
  const signing = {
    signingSecret,
    now,
    signal,
    ...(answerTimeoutMs !== undefined && { answerTimeoutMs }),
  };

  function newTriggerId(user: string, channel: string): string {
    return state.modals.issue(messages.newTs(), { user, channel });
  }

  function deliver(eventsUrl: string, payload: unknown): Promise<Delivery> {
    return sendEvent({
      ...signing,
      eventsUrl,
      payload,
      ...(retryDelaysMs !== undefined && { retryDelaysMs }),
    });
  }

  /** Stores a file that a person has chosen but not posted yet. */
  function upload({
    user = workspace.person,
    ...file
  }: FileOfPerson & { user?: string }): FakeSlackFile {
    const team = findFakePerson(user)?.team ?? workspace.team;
    return store.add({ mimetype: "application/octet-stream", ...file, user, team });
  }

  /** `mention`: the bot user that the text mentions. */
  function post(
    { eventsUrl, text, threadTs, ...target }: Post,
    mention?: string,
  ): PostedByFakePerson {
    const channel = findChannel(target.channel);
    const {
      user = firstPerson(channel),
      files = [],
      fileIds = [],
      attachments,
      forwards = [],
      isThroughApp,
      open,
    } = target;
    if (
      threadTs !== undefined &&
      messages.find({ channel: channel.id, ts: threadTs }) === undefined
    ) {
      throw new Error("The fake Slack has no such thread.");
    }
    const knownFiles = fileIds.flatMap((id) => store.find(id) ?? []);
    const attachedFiles = [...files.map((file) => upload({ ...file, user })), ...knownFiles].map(
      withoutBytes,
    );
    const originals = forwards.map((reference) => findReadable({ ...reference, user }));
    const typedText = escapeMrkdwn(text);
    const message = messages.add({
      channel: channel.id,
      threadTs,
      user,
      text: mention === undefined ? typedText : `<@${mention}> ${typedText}`.trimEnd(),
      ...(isThroughApp && { isThroughApp }),
      ...(attachedFiles.length > 0 && { files: attachedFiles }),
      ...(attachments !== undefined && { attachments }),
      ...(originals.length > 0 && { forwards: originals }),
    });
    const event = mention === undefined ? "message" : "app_mention";
    const payload = createEventPayload({ event, message, open, filesUrl: state.url });
    return {
      message,
      requestId: requestIdOf({ appId: workspace.app, channel: channel.id, ts: message.ts }),
      delivered: deliver(eventsUrl, payload),
    };
  }

  function findMessage(reference: { channel: string; ts: string }): FakeSlackMessage {
    const message = messages.find(reference);
    if (message === undefined) throw new Error("The fake Slack has no such message.");
    return message;
  }

  /** People forward only what they can read. */
  function findReadable({
    user,
    ...reference
  }: {
    channel: string;
    ts: string;
    user: string;
  }): FakeSlackMessage {
    const message = findMessage(reference);
    if (message.isDeleted || !findChannel(message.channel).people.includes(user)) {
      throw new Error("The fake Slack has no such message for this person.");
    }
    return message;
  }

  function deliverChange(
    eventsUrl: string,
    oldMessage: FakeSlackMessage,
    newMessage: FakeSlackMessage | undefined,
  ) {
    const replies = messages.thread(oldMessage).filter(({ ts }) => ts !== oldMessage.ts);
    const change = {
      oldMessage,
      newMessage,
      replies,
      changeTs: messages.newTs(),
      filesUrl: state.url,
    };
    return deliver(eventsUrl, createChangePayload(change));
  }

  return {
    /**
     * Posts `text`, in a channel with a mention of the bot before it. In a Slack Connect channel `mention` may be the bot of
     * either workspace. Throws if the channel or the thread does not exist.
     */
    ask({ mention, ...request }: Post & { mention?: string | undefined }): PostedByFakePerson {
      const { id, direct } = findChannel(request.channel);
      return post(request, direct ? undefined : (mention ?? findTeamOfChannel(id).user));
    },
    /** Another app, or a workflow, mentions the bot. */
    askAsBot({
      by,
      ...request
    }: Omit<Post, "user"> & { by: "app" | "workflow" }): PostedByFakePerson {
      const user = by === "app" ? otherBot.user : workflow.bot;
      return post({ ...request, user }, findTeamOfChannel(findChannel(request.channel).id).user);
    },
    /**
     * Another app posts an alert as monitoring apps do: without a text, and all words in an attachment. Throws in direct messages,
     * where only people and the bot itself write.
     */
    postAlert({
      alert,
      ...request
    }: {
      eventsUrl: string;
      channel?: string;
      alert: Alert;
    }): PostedByFakePerson {
      if (findChannel(request.channel).direct)
        throw new Error("The fake Slack has no alerts in direct messages.");
      return post({
        ...request,
        user: otherBot.user,
        text: "",
        attachments: [toAlertAttachment(alert)],
      });
    },
    /** Edits a message of a person. A mention at its beginning stays. Throws if there is none. */
    edit({ eventsUrl, text, ...reference }: ChangedPost & { text: string }) {
      const oldMessage = findMessage(reference);
      const [mention = ""] = /^<@\w+>/.exec(oldMessage.text) ?? [];
      const newMessage = messages.change(oldMessage, {
        text: `${mention} ${escapeMrkdwn(text)}`.trim(),
        edited: true,
      });
      return { delivered: deliverChange(eventsUrl, oldMessage, newMessage) };
    },
    /** Deletes a message of a person. Throws if there is none. */
    remove({ eventsUrl, ...reference }: ChangedPost) {
      const oldMessage = findMessage(reference);
      const hasReplies = messages.thread(oldMessage).length > 1;
      const tombstone = {
        text: "This message was deleted.",
        files: undefined,
        blocks: undefined,
        isDeleted: true,
      } as const;
      const newMessage = hasReplies ? messages.change(oldMessage, tombstone) : undefined;
      if (newMessage === undefined) messages.remove(oldMessage);
      return { delivered: deliverChange(eventsUrl, oldMessage, newMessage) };
    },
    /** Slack adds the preview of a link, which it tells as a change of the message. */
    unfurl({ eventsUrl, ...reference }: ChangedPost) {
      const oldMessage = findMessage(reference);
      return {
        delivered: deliverChange(
          eventsUrl,
          oldMessage,
          messages.change(oldMessage, { unfurls: true }),
        ),
      };
    },
    /** Posts in a thread, without a mention. */
    reply: (request: Post & { threadTs: string }) => post(request),
    upload,
    /** Clicks a button of a message; of votes, the one with that value. Throws if the message has no such button. */
    clickButton(
      request: { eventsUrl: string; channel: string; ts: string; user?: string } & (
        | { actionId: string; value?: string | undefined }
        | { label: string }
      ),
    ) {
      const channel = findChannel(request.channel);
      const message = messages.find(request);
      const { blocks = [] } = message ?? {};
      const shownButton = [...listButtons(blocks), ...listVotes(blocks)].find(({ button }) =>
        "actionId" in request
          ? button.action_id === request.actionId &&
            button.value === (request.value ?? button.value)
          : button.text.text === request.label,
      );
      if (message === undefined || shownButton === undefined)
        throw new Error("The fake Slack has no such button.");
      const { user = firstPerson(channel) } = request;
      if (shownButton.button.type === "feedback_buttons") {
        messages.change(message, { votes: { ...message.votes, [user]: shownButton.button.value } });
      }
      const ids = { triggerId: newTriggerId(user, channel.id), actionTs: messages.newTs() };
      const form = createClickForm({
        channel,
        message,
        ...shownButton,
        user,
        ...ids,
        filesUrl: state.url,
      });
      return {
        /** The task that the message belongs to, if it is the app's. */
        requestId: metadataSchema.parse(message.metadata)?.event_payload.request_id,
        delivered: sendForm({ ...signing, url: request.eventsUrl, form }),
      };
    },
    /** Chooses a shortcut of the app in the menu of a message. Throws if there is no such message. */
    useShortcut(request: {
      eventsUrl: string;
      channel: string;
      ts: string;
      callbackId: string;
      user?: string;
    }) {
      const { eventsUrl, callbackId, user = firstPerson(findChannel(request.channel)) } = request;
      const message = findMessage(request);
      const shortcut = {
        message,
        user,
        callbackId,
        actionTs: messages.newTs(),
        filesUrl: state.url,
      };
      const form = createShortcutForm({
        ...shortcut,
        triggerId: newTriggerId(user, message.channel),
      });
      return { delivered: sendForm({ ...signing, url: eventsUrl, form }) };
    },
    /**
     * Submits an open modal. It closes unless the app answers with errors, or not at all. Slack's client itself checks lengths, numbers and
     * what is required; this one sends whatever is filled in. Throws if there is no such modal, input or choice, and if Slack
     * does not take the answer.
     */
    async submitModal(request: { eventsUrl: string; id: string; filledIn: FilledIn }) {
      const { eventsUrl, id, filledIn } = request;
      const modal = state.modals.all().find((each) => each.id === id);
      if (modal === undefined) throw new Error("The fake Slack has no such modal.");
      const triggerId = newTriggerId(modal.user, modal.channel);
      const form = createSubmissionForm({
        modal,
        state: toViewState(modal.view, filledIn),
        triggerId,
      });
      const delivery = await sendForm({ ...signing, url: eventsUrl, form });
      const errors = readErrorsReply(modal.view, delivery.reply);
      if (delivery.status === 200 && errors === undefined) state.modals.close(modal);
      return { ...delivery, errors };
    },
    /** Clicks a button of an open modal. Slack opens its address, if it has one, and sends the click too. Throws if there is none. */
    clickModalButton(request: { eventsUrl: string; id: string; label: string }) {
      const { eventsUrl, id, label } = request;
      const modal = state.modals.all().find((each) => each.id === id);
      const shownButton = listButtons(modal?.view.blocks ?? []).find(
        ({ button }) => button.text.text === label,
      );
      if (modal === undefined || shownButton === undefined)
        throw new Error("The fake Slack has no such button in a modal.");
      const triggerId = newTriggerId(modal.user, modal.channel);
      const click = { modal, ...shownButton, triggerId, actionTs: messages.newTs() };
      const form = createModalClickForm(click);
      return {
        url: shownButton.button.url,
        delivered: sendForm({ ...signing, url: eventsUrl, form }),
      };
    },
    /** Closes a modal without submitting it. */
    closeModal(id: string): void {
      const modal = state.modals.all().find((each) => each.id === id);
      if (modal !== undefined) state.modals.close(modal);
    },
    /** Types a slash command. `text` is what follows the command. */
    command(request: {
      eventsUrl: string;
      text: string;
      command?: string;
      channel?: string;
      user?: string;
    }) {
      const channel = findChannel(request.channel);
      const { eventsUrl, command = "/sekisho", user = firstPerson(channel) } = request;
      const triggerId = newTriggerId(user, channel.id);
      const form = createCommandForm({
        channel,
        user,
        command,
        text: escapeMrkdwn(request.text),
        triggerId,
      });
      return {
        requestId: requestIdOf({ appId: workspace.app, channel: channel.id, ts: triggerId }),
        triggerId,
        delivered: sendForm({ ...signing, url: eventsUrl, form }),
      };
    },
    /** Opens a tab of the app in the direct messages with it. */
    openHome(request: { eventsUrl: string; user?: string; tab?: "home" | "messages" }) {
      const { eventsUrl, user = workspace.person, tab = "messages" } = request;
      const { id: channel } = findDirectChannel(user);
      const payload = createHomeOpenedPayload({ channel, ts: messages.newTs(), user, tab });
      return { channel, delivered: deliver(eventsUrl, payload) };
    },
    /** Clicks a button of the App Home, by its label and its position among those. Throws if there is none. */
    clickHomeButton(request: { eventsUrl: string; label: string; index?: number; user?: string }) {
      const { eventsUrl, label, index = 0, user = workspace.person } = request;
      const buttons = listButtons(state.ephemeral.home(user) ?? []);
      const matchingButton = buttons.filter(({ button }) => button.text.text === label)[index];
      if (matchingButton === undefined)
        throw new Error("The App Home of the fake Slack has no such button.");
      const triggerId = newTriggerId(user, findDirectChannel(user).id);
      const form = createHomeClickForm({
        user,
        ...matchingButton,
        triggerId,
        actionTs: messages.newTs(),
      });
      return { delivered: sendForm({ ...signing, url: eventsUrl, form }) };
    },
    /** Presses Slack's stop button, which ends the open streams of the thread. Throws if Slack shows no such button. */
    stopSession(request: { eventsUrl: string; channel: string; threadTs: string; user?: string }) {
      const { eventsUrl, threadTs } = request;
      const channel = findChannel(request.channel);
      const { user = firstPerson(channel) } = request;
      if (state.ephemeral.session({ channel: channel.id, threadTs })?.status !== "processing") {
        throw new Error("The fake Slack shows no stop button.");
      }
      const open = messages
        .thread({ channel: channel.id, ts: threadTs })
        .flatMap((message) =>
          message.stream?.state === "open" ? [{ message, stream: message.stream }] : [],
        );
      for (const { message, stream } of open) {
        messages.change(message, { stream: { ...stream, state: "stopped_by_user" } });
      }
      const streams = open.map(({ message }) => message.ts);
      const stop = { channel: channel.id, threadTs, ts: messages.newTs(), user, streams };
      return { delivered: deliver(eventsUrl, createStoppedPayload(stop)) };
    },
  };
}

function findChannel(id: string = workspace.channel.id): FakeSlackChannel {
  const channel = findFakeChannel(id);
  if (channel === undefined) throw new Error("The fake Slack has no such channel.");
  return channel;
}

function findDirectChannel(user: string): FakeSlackChannel {
  const directChannel = channels.find(({ direct, people }) => direct && people.includes(user));
  if (directChannel === undefined) throw new Error("The fake Slack has no such person.");
  return directChannel;
}

function firstPerson({ people }: FakeSlackChannel): string {
  return people[0] ?? workspace.person;
}

function withoutBytes({
  id,
  name,
  title,
  mimetype,
  size,
  team,
  user,
}: FakeSlackFile): FakeSlackFile {
  return { id, name, title, mimetype, size, team, user };
}
