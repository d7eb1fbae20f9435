/** `chat.*`: messages, ephemeral messages, and streams, which are messages that are written piece by piece. */
import type { FakeSlackMessage } from "../messages.ts";
import { readUnfurling, toPermalink, toSlackMessage } from "../slack-message.ts";
import type { FakeSlackState } from "../state.ts";
import { findFakePerson, findFakeTeam } from "../workspace.ts";
import { isStreaming } from "./arguments.ts";
import type { Methods } from "./table.ts";

/** `chat.postMessage` cuts a longer text. */
const maxPostLength = 40_000;
/** `chat.update` refuses a longer text. */
const maxUpdateLength = 4000;

export const chatMethods: Methods<"chat"> = {
  "chat.postMessage": ({ args, bot, state, channel, text, blocks, threadTs, metadata }) => {
    const content = {
      text: text.slice(0, maxPostLength),
      ...readUnfurling(args),
      ...(blocks && { blocks }),
    };
    const message = state.messages.add({
      channel: channel.id,
      threadTs,
      user: bot,
      metadata,
      ...content,
    });
    endStatus(state, message);
    return {
      channel: channel.id,
      ts: message.ts,
      message: toSlackMessage({ message, filesUrl: state.url }),
    };
  },

  "chat.update": ({ args, bot, state, message, text, blocks, metadata }) => {
    if (message.user !== bot) return { error: "cant_update_message" };
    if (isStreaming(state, message)) return { error: "streaming_state_conflict" };
    if (text.length > maxUpdateLength) return { error: "msg_too_long" };
    const withMetadata = metadata === undefined ? {} : { metadata };
    // A text without blocks replaces the blocks.
    const { channel, ts } = state.messages.change(message, {
      text,
      blocks,
      edited: true,
      ...readUnfurling(args),
      ...withMetadata,
    });
    return { channel, ts, text };
  },

  "chat.delete": ({ bot, state, message }) => {
    if (message.user !== bot || isStreaming(state, message))
      return { error: "cant_delete_message" };
    state.messages.remove(message);
    return { channel: message.channel, ts: message.ts };
  },

  "chat.postEphemeral": ({ args: { user = "", thread_ts: threadTs }, state, channel, text }) => {
    if (!channel.people.includes(user)) return { error: "user_not_in_channel" };
    const ts = state.messages.newTs();
    state.ephemeral.postEphemeral({ channel: channel.id, threadTs, ts, user, text });
    return { message_ts: ts };
  },

  "chat.getPermalink": ({ channel, message }) => ({
    channel: channel.id,
    permalink: toPermalink(message),
  }),

  "chat.startStream": ({ args, bot, state, channel, threadTs, piece }) => {
    const { recipient_user_id: user, recipient_team_id: team } = args;
    if (!channel.direct && !user) return { error: "missing_recipient_user_id" };
    if (!channel.direct && !team) return { error: "missing_recipient_team_id" };
    if (user !== undefined && findFakePerson(user) === undefined)
      return { error: "user_not_found" };
    if (team !== undefined && findFakeTeam(team) === undefined) return { error: "team_not_found" };
    const stream = { state: "open", startedAtMs: state.now() } as const;
    const content = { ...streamContent(piece), ...readUnfurling(args), stream };
    const message = state.messages.add({
      channel: channel.id,
      threadTs,
      user: bot,
      metadata: undefined,
      ...content,
    });
    endStatus(state, message);
    return { channel: channel.id, ts: message.ts };
  },

  "chat.appendStream": ({ args, state, message, piece }) => {
    if (piece === "") return { error: "no_text" };
    state.messages.change(message, {
      ...streamContent(message.text + piece),
      ...readUnfurling(args),
    });
    return { channel: message.channel, ts: message.ts };
  },

  "chat.stopStream": ({ args, state, message, stream, piece, metadata, blocks: newBlocks }) => {
    const { text, blocks: oldBlocks = [] } = streamContent(message.text + piece);
    const blocks = [...oldBlocks, ...newBlocks];
    const content = {
      text,
      ...(blocks.length > 0 && { blocks }),
      ...(metadata !== undefined && { metadata }),
    };
    state.messages.change(message, {
      ...content,
      ...readUnfurling(args),
      stream: { ...stream, state: "closed" },
    });
    return { channel: message.channel, ts: message.ts };
  },
};

/** A post of the bot ends its status in that thread, as in Slack. */
function endStatus({ ephemeral }: FakeSlackState, { channel, threadTs }: FakeSlackMessage): void {
  if (threadTs !== undefined) ephemeral.setStatus({ channel, threadTs, status: "" });
}

function streamContent(markdown: string): Pick<FakeSlackMessage, "text" | "blocks"> {
  return markdown === ""
    ? { text: "" }
    : { text: markdown, blocks: [{ type: "markdown", text: markdown }] };
}
