/**
 * The requests that Slack sends to an app: events (https://docs.slack.dev/apis/events-api), slash commands
 * (https://docs.slack.dev/interactivity/implementing-slash-commands) and button clicks
 * (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload).
 */
import type { FakeSlackButton, FakeSlackVote } from "./blocks.ts";
import type { FakeSlackMessage } from "./messages.ts";
import {
  attachmentFields,
  toListedFile,
  toRichText,
  toSlackMessage,
  writerFields,
} from "./slack-message.ts";
import { type OpenModal, toViewPayload } from "./views.ts";
import {
  type FakeSlackChannel,
  findFakeChannel,
  findFakePerson,
  findFakeTeam,
  findTeamOfChannel,
  organization,
  workspace,
} from "./workspace.ts";

const token = "retired-verification-token";

type PostedMessage = Pick<
  FakeSlackMessage,
  | "channel"
  | "ts"
  | "threadTs"
  | "user"
  | "isThroughApp"
  | "text"
  | "files"
  | "attachments"
  | "forwards"
>;

/** A channel that a person has open, or with `ts` a message in it or its thread. */
export type OpenInSlack = { channel: string; ts?: string };

type PostedEvent = {
  event: "app_mention" | "message";
  message: PostedMessage;
  open?: readonly OpenInSlack[] | undefined;
  eventId?: string;
  filesUrl?: string;
};

/**
 * `app_mention` and `message` for the same message differ in `event_id` and little else. `eventId` is unique per event;
 * redeliveries keep it.
 */
export function createEventPayload({
  event,
  message: { channel, ts, threadTs, user, isThroughApp, text, files = [], attachments, forwards },
  open,
  eventId = `Ev${event === "message" ? "M" : "A"}${ts.replace(".", "")}`,
  filesUrl = "http://127.0.0.1/",
}: PostedEvent) {
  const isWrittenInClient = findFakePerson(user) !== undefined && !isThroughApp;
  const team = findFakePerson(user)?.team ?? workspace.team;
  const isMessage = event === "message";
  const attachedFiles = {
    files: files.map((file) => toListedFile({ file, filesUrl })),
    upload: false,
    display_as_bot: false,
  };
  return {
    ...createEnvelope({ channel, team, eventId, ts }),
    event: {
      ...writerFields({ user, isThroughApp, team }),
      type: event,
      ...(isMessage && files.length > 0 && { subtype: "file_share" }),
      ts,
      ...(isWrittenInClient && { client_msg_id: `fake-slack-${ts}` }),
      text,
      team,
      ...(team !== findTeamOfChannel(channel).id && { user_team: team, source_team: team }),
      ...(text !== "" && { blocks: [toRichText(text)] }),
      ...attachmentFields({ message: { text, attachments, forwards }, filesUrl }),
      ...(files.length > 0 && attachedFiles),
      ...(threadTs !== undefined && { thread_ts: threadTs }),
      channel,
      event_ts: ts,
      ...(isMessage && { channel_type: channel.startsWith("D") ? "im" : "channel" }),
      ...(open && channel.startsWith("D") && { app_context: toAppContext(open) }),
    },
  };
}

/** https://docs.slack.dev/reference/events/app_context_changed. Nothing open is an empty object. */
function toAppContext(open: readonly OpenInSlack[]) {
  const entities = open.map(({ channel, ts }) =>
    ts === undefined
      ? { type: "slack#/types/channel_id", value: channel, team_id: findTeamOfChannel(channel).id }
      : { type: "slack#/types/message_context", value: { channel_id: channel, message_ts: ts } },
  );
  return entities.length === 0 ? {} : { entities };
}

type OpenedTab = { channel: string; ts: string; user: string; tab: "home" | "messages" };

/** A person opened a tab of the app (https://docs.slack.dev/reference/events/app_home_opened). */
export function createHomeOpenedPayload({ channel, ts, user, tab }: OpenedTab) {
  const { id: team } = findTeamOfChannel(channel);
  return {
    ...createEnvelope({ channel, team, eventId: `EvH${ts.replace(".", "")}`, ts }),
    event: { type: "app_home_opened", user, channel, tab, event_ts: ts },
  };
}

type Stopped = {
  channel: string;
  threadTs: string;
  ts: string;
  user: string;
  streams: readonly string[];
};

/** A person pressed the stop button of a session (https://docs.slack.dev/reference/events/agent_session_stopped). */
export function createStoppedPayload({ channel, threadTs, ts, user, streams }: Stopped) {
  const { id: team } = findTeamOfChannel(channel);
  return {
    ...createEnvelope({ channel, team, eventId: `EvX${ts.replace(".", "")}`, ts }),
    event: {
      type: "agent_session_stopped",
      channel,
      user,
      thread_ts: threadTs,
      streaming_message_ts: streams,
      event_ts: ts,
    },
  };
}

/**
 * `team` is the author's workspace. In a Slack Connect channel it differs from `context_team_id`, the workspace in which the
 * app is installed. An installation in a whole organization is authorized as that organization.
 */
export function createEnvelope(about: {
  channel: string;
  team: string;
  eventId: string;
  ts: string;
}) {
  const home = findTeamOfChannel(about.channel);
  const { enterprise = null } = home;
  return {
    token,
    team_id: about.team,
    ...(enterprise !== null && { enterprise_id: enterprise }),
    context_team_id: home.id,
    context_enterprise_id: enterprise,
    api_app_id: workspace.app,
    type: "event_callback" as const,
    event_id: about.eventId,
    event_time: Number(about.ts.split(".")[0]),
    authorizations: [
      {
        enterprise_id: enterprise,
        team_id: enterprise === null ? home.id : null,
        user_id: home.user,
        is_bot: true,
        is_enterprise_install: enterprise !== null,
      },
    ],
    is_ext_shared_channel: findFakeChannel(about.channel)?.sharedWith !== undefined,
    event_context: `4-${about.eventId}`,
  };
}

type Interaction = { channel: FakeSlackChannel; user: string; triggerId: string };

/** `text` is what follows the command. */
export function createCommandForm(
  typedCommand: Interaction & { command: string; text: string },
): Record<string, string> {
  const { channel, user, command, text, triggerId } = typedCommand;
  const { id, domain, enterprise } = findTeamOfChannel(channel.id);
  return {
    token,
    team_id: id,
    team_domain: domain,
    ...(enterprise !== undefined && {
      enterprise_id: enterprise,
      enterprise_name: organization.name,
    }),
    channel_id: channel.id,
    channel_name: shownName(channel),
    user_id: user,
    user_name: userName(user),
    command,
    text,
    api_app_id: workspace.app,
    is_enterprise_install: String(enterprise !== undefined),
    response_url: "https://hooks.slack.invalid/commands/fake-slack",
    trigger_id: triggerId,
  };
}

type Click = {
  message: FakeSlackMessage;
  button: FakeSlackButton | FakeSlackVote;
  blockId: string;
  actionTs: string;
};

export function createClickForm(click: Interaction & Click & { filesUrl: string }): {
  payload: string;
} {
  const { channel, message, user } = click;
  const thread = message.threadTs === undefined ? {} : { thread_ts: message.threadTs };
  const payload = {
    type: "block_actions",
    ...actorFields({ user, channel: channel.id }),
    api_app_id: workspace.app,
    token,
    container: {
      type: "message",
      message_ts: message.ts,
      channel_id: channel.id,
      is_ephemeral: false,
      ...thread,
    },
    trigger_id: click.triggerId,
    channel: { id: channel.id, name: shownName(channel) },
    message: toSlackMessage({ message, filesUrl: click.filesUrl }),
    state: { values: {} },
    response_url: "https://hooks.slack.invalid/actions/fake-slack",
    actions: [{ ...click.button, block_id: click.blockId, action_ts: click.actionTs }],
  };
  return { payload: JSON.stringify(payload) };
}

/** A click on a button of the App Home, which is in no channel. */
export function createHomeClickForm(
  click: Pick<Interaction, "user" | "triggerId"> & Omit<Click, "message">,
): {
  payload: string;
} {
  const { user } = click;
  const id = findFakePerson(user)?.team ?? workspace.team;
  const domain = findFakeTeam(id)?.domain;
  const name = userName(user);
  const payload = {
    type: "block_actions",
    user: { id: user, username: name, name, team_id: id },
    api_app_id: workspace.app,
    token,
    container: { type: "view", view_id: `V${user}` },
    trigger_id: click.triggerId,
    team: { id, domain },
    enterprise: null,
    is_enterprise_install: false,
    view: {
      id: `V${user}`,
      team_id: id,
      type: "home",
      callback_id: "",
      private_metadata: "",
      hash: click.actionTs,
    },
    actions: [{ ...click.button, block_id: click.blockId, action_ts: click.actionTs }],
  };
  return { payload: JSON.stringify(payload) };
}

/** A click on a button of a modal, also on one that opens an address. It names no channel. */
export function createModalClickForm(
  click: { modal: OpenModal; triggerId: string } & Omit<Click, "message">,
): { payload: string } {
  const { modal, triggerId, button, blockId, actionTs } = click;
  const payload = {
    type: "block_actions",
    ...actorFields(modal),
    api_app_id: workspace.app,
    token,
    container: { type: "view", view_id: modal.id },
    trigger_id: triggerId,
    view: toViewPayload(modal),
    actions: [{ ...button, block_id: blockId, action_ts: actionTs }],
  };
  return { payload: JSON.stringify(payload) };
}

/** https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload. */
export function createSubmissionForm(submission: {
  modal: OpenModal;
  state: object;
  triggerId: string;
}) {
  const { modal, state, triggerId } = submission;
  const payload = {
    type: "view_submission",
    ...actorFields(modal),
    ...submitterTeam(modal),
    api_app_id: workspace.app,
    token,
    trigger_id: triggerId,
    view: toViewPayload(modal, state),
    response_urls: [],
  };
  return { payload: JSON.stringify(payload) };
}

/** https://docs.slack.dev/reference/interaction-payloads/shortcuts-interaction-payload, of a message. */
export function createShortcutForm(shortcut: {
  message: FakeSlackMessage;
  user: string;
  callbackId: string;
  triggerId: string;
  actionTs: string;
  filesUrl: string;
}) {
  const { message, user, callbackId, triggerId, actionTs, filesUrl } = shortcut;
  const { channel } = message;
  const payload = {
    type: "message_action",
    token,
    action_ts: actionTs,
    ...actorFields({ user, channel }),
    channel: { id: channel, name: findFakeChannel(channel)?.name ?? channel },
    callback_id: callbackId,
    trigger_id: triggerId,
    response_url: "https://hooks.slack.invalid/app/fake-slack",
    message_ts: message.ts,
    message: toSlackMessage({ message, filesUrl }),
  };
  return { payload: JSON.stringify(payload) };
}

/** With the submission of a person of another organization, Slack names that person's workspace. The view names the installation. */
function submitterTeam({ user, channel }: OpenModal) {
  const { sharedWith } = findFakeChannel(channel) ?? {};
  const team = findFakeTeam(findFakePerson(user)?.team);
  return team === undefined || team.id !== sharedWith
    ? {}
    : { team: { id: team.id, domain: team.domain } };
}

/** Who did it, and through which installation. In a shared channel, only `user` names the workspace of a person of another one. */
function actorFields({ user, channel }: { user: string; channel: string }) {
  const { id, domain, enterprise } = findTeamOfChannel(channel);
  const isInOrganization = enterprise !== undefined;
  const name = userName(user);
  return {
    team: {
      id,
      domain,
      ...(isInOrganization && { enterprise_id: enterprise, enterprise_name: organization.name }),
    },
    user: { id: user, username: name, name, team_id: findFakePerson(user)?.team ?? id },
    enterprise: isInOrganization ? { id: enterprise, name: organization.name } : null,
    is_enterprise_install: isInOrganization,
  };
}

function shownName({ direct, name }: FakeSlackChannel): string {
  return direct ? "directmessage" : name;
}

function userName(user: string): string {
  return (findFakePerson(user)?.name ?? user).toLowerCase();
}
