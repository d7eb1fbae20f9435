/**
 * The events of an edited or deleted message (https://docs.slack.dev/reference/events/message/message_changed and
 * https://docs.slack.dev/reference/events/message/message_deleted).
 */
import type { FakeSlackMessage } from "./messages.ts";
import { createEnvelope } from "./payloads.ts";
import { toSlackMessage } from "./slack-message.ts";
import { findFakePerson, workspace } from "./workspace.ts";

type Change = {
  oldMessage: FakeSlackMessage;
  /** Undefined if it was deleted. A deleted message with replies stays as a tombstone. */
  newMessage: FakeSlackMessage | undefined;
  replies: readonly FakeSlackMessage[];
  changeTs: string;
  filesUrl: string;
};

export function createChangePayload({
  oldMessage,
  newMessage,
  replies,
  changeTs,
  filesUrl,
}: Change) {
  const { channel, ts, user } = oldMessage;
  const team = findFakePerson(user)?.team ?? workspace.team;
  const version = (message: FakeSlackMessage) =>
    createVersion({ message, replies, team, filesUrl });
  const change =
    newMessage === undefined
      ? { subtype: "message_deleted", deleted_ts: ts }
      : {
          subtype: "message_changed",
          message: {
            ...version(newMessage),
            ...editedFields({ oldMessage, newMessage, changeTs }),
          },
        };
  return {
    ...createEnvelope({ channel, team, eventId: `EvC${changeTs.replace(".", "")}`, ts: changeTs }),
    event: {
      type: "message",
      ...change,
      previous_message: version(oldMessage),
      channel,
      hidden: true,
      ts: changeTs,
      event_ts: changeTs,
      channel_type: channel.startsWith("D") ? "im" : "channel",
    },
  };
}

type Version = Pick<Change, "replies" | "filesUrl"> & { message: FakeSlackMessage; team: string };

/** Unlike the event of a new message, it has no channel, and that of a thread's first message names its own thread. */
function createVersion({ message, replies, team, filesUrl }: Version) {
  const { ts, isDeleted } = message;
  const users = [...new Set(replies.map(({ user }) => user))];
  const latest = replies.at(-1)?.ts;
  return {
    ...toSlackMessage({ message, filesUrl }),
    ...(isDeleted ? {} : { client_msg_id: `fake-slack-${ts}`, source_team: team, user_team: team }),
    ...(latest === undefined
      ? {}
      : {
          thread_ts: ts,
          reply_count: replies.length,
          reply_users_count: users.length,
          latest_reply: latest,
          reply_users: users,
          is_locked: false,
        }),
  };
}

/** Slack counts edits by the second. The preview of a link is no edit. */
function editedFields(change: {
  oldMessage: FakeSlackMessage;
  newMessage: FakeSlackMessage;
  changeTs: string;
}) {
  const { oldMessage, newMessage, changeTs } = change;
  const isEdited = !newMessage.isDeleted && newMessage.text !== oldMessage.text;
  return isEdited
    ? { edited: { user: newMessage.user, ts: `${changeTs.split(".")[0]}.000000` } }
    : {};
}
