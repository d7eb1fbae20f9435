/** What people do in the fake Slack: each deed changes the workspace and goes to the app as a signed request. */

import { metadataSchema } from "../../../lambdas/verification/slack/api/posts.ts";
import { escapeMrkdwn } from "../../../lambdas/verification/slack/markdown/characters.ts";
import { requestIdOf } from "../../../lambdas/verification/task/messages.ts";
import { createAssistantPayload, createEventPayload } from "../event-payload.ts";
import { type Delivery, sendEvent, sendForm } from "../signed-events.ts";
import { listButtons } from "./blocks.ts";
import type { FakeSlackFile } from "./files.ts";
import { createClickForm, createCommandForm } from "./form-payload.ts";
import type { FakeSlackMessage } from "./messages.ts";
import type { FakeSlackState } from "./state.ts";
import {
  channels,
  type FakeSlackChannel,
  findFakeChannel,
  findFakePerson,
  findFakeTeam,
  workspace,
} from "./workspace.ts";

export type PostedByFakePerson = {
  message: FakeSlackMessage;
  requestId: string;
  /** Resolves when Slack would be done with the event: taken, or given up. */
  delivered: Promise<Delivery>;
};

export type FileOfPerson = { name: string; mimetype?: string; bytes: Uint8Array };

/** `files` are brought along; `fileIds` are of those that were `uploaded` before. */
type Post = {
  eventsUrl: string;
  text: string;
  channel?: string;
  user?: string;
  files?: readonly FileOfPerson[];
  fileIds?: readonly string[];
};
/** `mention` is the bot's user that is mentioned; in a channel of Slack Connect it may be that of either workspace. */
type Mention = { mention?: string | undefined };

export type Persons = {
  /**
   * A person posts `text` (in a channel with a mention of the bot before it), and the event goes to `eventsUrl` as Slack
   * would send it. `channel` is the fake Slack's channel if it is left out. Throws where channel or thread do not exist.
   */
  ask(request: Post & Mention & { threadTs?: string | undefined }): PostedByFakePerson;
  /** The same in a thread, without the mention. */
  reply(request: Post & { threadTs: string }): PostedByFakePerson;
  /** A file that a person has chosen and not posted yet. */
  upload(file: FileOfPerson & { user?: string }): FakeSlackFile;
  /** A person presses a button of a message. Throws where it has none such. */
  clickButton(
    request: { eventsUrl: string; channel: string; ts: string; user?: string } & (
      | { actionId: string }
      | { label: string }
    ),
  ): {
    /** Of the message's task, where it is one of ours. */ requestId: string | undefined;
    delivered: Promise<Delivery>;
  };
  /** `text` is what follows the command. */
  command(request: { eventsUrl: string; text: string; command?: string; channel?: string; user?: string }): {
    requestId: string;
    triggerId: string;
    delivered: Promise<Delivery>;
  };
  /** A person opens a conversation with the assistant: `ask` in that thread is what they say in it. */
  openAssistant(request: { eventsUrl: string; user?: string }): {
    channel: string;
    threadTs: string;
    delivered: Promise<Delivery>;
  };
};

export function createPersons({
  state,
  signingSecret,
  retryDelaysMs,
  signal,
}: {
  state: FakeSlackState;
  signingSecret: string;
  retryDelaysMs: readonly number[] | undefined;
  signal: AbortSignal;
}): Persons {
  const { messages, files: store, now } = state;
  let triggers = 0;

  function nextTriggerId(): string {
    triggers++;
    return `${messages.newTs()}.${triggers}.${crypto.randomUUID().replaceAll("-", "")}`;
  }

  function deliver(eventsUrl: string, payload: unknown): Promise<Delivery> {
    const retries = retryDelaysMs === undefined ? {} : { retryDelaysMs };
    return sendEvent({ eventsUrl, signingSecret, payload, now, signal, ...retries });
  }

  function upload({
    name,
    mimetype = "application/octet-stream",
    bytes,
    user = workspace.person,
  }: FileOfPerson & { user?: string }) {
    return store.add({ name, mimetype, bytes, user, team: findFakePerson(user)?.team ?? workspace.team });
  }

  function post({
    eventsUrl,
    text,
    place,
    threadTs,
    user = place.people[0] ?? workspace.person,
    files = [],
    fileIds = [],
    mentions,
    mention = findFakeTeam(place.team)?.user ?? workspace.botUser,
  }: Post &
    Mention & { place: FakeSlackChannel; threadTs: string | undefined; mentions: boolean }): PostedByFakePerson {
    const channel = place.id;
    if (threadTs !== undefined && messages.find({ channel, ts: threadTs }) === undefined) {
      throw new Error("The fake Slack has no such thread.");
    }
    const typed = escapeMrkdwn(text);
    const attached = [
      ...files.map((file) => upload({ ...file, user })),
      ...fileIds.flatMap((id) => store.find(id) ?? []),
    ];
    const shown = attached.map(({ id, name, title, mimetype, size, team, user: owner }) => {
      return { id, name, title, mimetype, size, team, user: owner };
    });
    const message = messages.add({
      channel,
      threadTs,
      user,
      text: mentions ? `<@${mention}> ${typed}`.trimEnd() : typed,
      metadata: undefined,
      ...(shown.length === 0 ? {} : { files: shown }),
    });
    const event = mentions ? "app_mention" : "message";
    return {
      message,
      requestId: requestIdOf({ appId: workspace.app, channel, ts: message.ts }),
      delivered: deliver(eventsUrl, createEventPayload({ event, message, filesUrl: state.filesUrl() })),
    };
  }

  return {
    ask({ channel = workspace.channel.id, threadTs, ...rest }) {
      const place = placeOf(channel);
      return post({ ...rest, place, threadTs, mentions: !place.direct });
    },
    reply({ channel = workspace.channel.id, ...rest }) {
      return post({ ...rest, place: placeOf(channel), mentions: false });
    },
    upload,
    clickButton({ eventsUrl, channel, ts, user, ...which }) {
      const place = placeOf(channel);
      const message = messages.find({ channel, ts });
      const clicked = listButtons(message?.blocks ?? []).find(({ button }) =>
        "actionId" in which ? button.action_id === which.actionId : button.text.text === which.label,
      );
      if (message === undefined || clicked === undefined) throw new Error("The fake Slack has no such button.");
      const form = createClickForm({
        channel: place,
        message,
        clicked,
        user: user ?? place.people[0] ?? workspace.person,
        triggerId: nextTriggerId(),
        actionTs: messages.newTs(),
        filesUrl: state.filesUrl(),
      });
      const requestId = metadataSchema.parse(message.metadata)?.event_payload.request_id;
      return { requestId, delivered: sendForm({ url: eventsUrl, signingSecret, form, now, signal }) };
    },
    command({ eventsUrl, text, command = "/sekisho", channel = workspace.channel.id, user }) {
      const place = placeOf(channel);
      const triggerId = nextTriggerId();
      const who = user ?? place.people[0] ?? workspace.person;
      const form = createCommandForm({ channel: place, user: who, command, text: escapeMrkdwn(text), triggerId });
      return {
        requestId: requestIdOf({ appId: workspace.app, channel, ts: triggerId }),
        triggerId,
        delivered: sendForm({ url: eventsUrl, signingSecret, form, now, signal }),
      };
    },
    openAssistant({ eventsUrl, user = workspace.person }) {
      const place = channels.find(({ direct, people }) => direct && people.includes(user));
      if (place === undefined) throw new Error("The fake Slack has no such person.");
      const bot = findFakeTeam(place.team)?.user ?? workspace.botUser;
      const opening = {
        channel: place.id,
        threadTs: undefined,
        user: bot,
        text: "New conversation",
        metadata: undefined,
      };
      const { ts: threadTs } = messages.add(opening);
      const payload = createAssistantPayload({ channel: place.id, threadTs, user });
      return { channel: place.id, threadTs, delivered: deliver(eventsUrl, payload) };
    },
  };
}

function placeOf(channel: string): FakeSlackChannel {
  const place = findFakeChannel(channel);
  if (place === undefined) throw new Error("The fake Slack has no such channel.");
  return place;
}
