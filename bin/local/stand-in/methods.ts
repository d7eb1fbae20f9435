/** The Web API methods that the stand-in knows (https://docs.slack.dev/reference/methods), as strict as Slack where it matters. */
import type { Messages, StandInMessage } from "./messages.ts";
import { channelOf, workspace } from "./workspace.ts";

export type MethodArgs = Readonly<Record<string, string | undefined>>;
export type MethodReply = { ok: true; [field: string]: unknown } | { ok: false; error: string };
export type Method = (args: MethodArgs) => MethodReply;

/** `chat.postMessage` cuts longer texts, `chat.update` refuses them. */
const maxPostLength = 40_000;
const maxUpdateLength = 4000;

/** `pageSize`: the most that one page of replies holds; small, so that paging is met. */
export function createMethods({
  messages,
  pageSize,
}: {
  messages: Messages;
  pageSize: number;
}): ReadonlyMap<string, Method> {
  /** The message that a call is about, if it is the bot's own. */
  function ownMessage({ channel, ts }: MethodArgs, refusal: string): StandInMessage | MethodReply {
    if (channelOf(channel) === undefined) return failure("channel_not_found");
    const message = messages.find({ channel: channel ?? "", ts: ts ?? "" });
    if (message === undefined) return failure("message_not_found");
    return message.user === workspace.botUser ? message : failure(refusal);
  }

  function postMessage({ channel, text, thread_ts, metadata }: MethodArgs): MethodReply {
    if (channel === undefined || channelOf(channel) === undefined) return failure("channel_not_found");
    if (!text) return failure("no_text");
    if (thread_ts !== undefined && messages.find({ channel, ts: thread_ts }) === undefined) {
      return failure("invalid_thread_ts");
    }
    const parsed = parseMetadata(metadata);
    if (parsed === "invalid") return failure("invalid_metadata_format");
    const posted = { channel, threadTs: thread_ts, user: workspace.botUser, metadata: parsed };
    const message = messages.add({ ...posted, text: text.slice(0, maxPostLength) });
    return { ok: true, channel, ts: message.ts, message: toSlack(message) };
  }

  function update(args: MethodArgs): MethodReply {
    const message = ownMessage(args, "cant_update_message");
    if ("ok" in message) return message;
    if (!args.text) return failure("no_text");
    if (args.text.length > maxUpdateLength) return failure("msg_too_long");
    const parsed = parseMetadata(args.metadata);
    if (parsed === "invalid") return failure("invalid_metadata_format");
    const changed = messages.change(message, {
      text: args.text,
      edited: true,
      ...(parsed === undefined ? {} : { metadata: parsed }),
    });
    return { ok: true, channel: changed.channel, ts: changed.ts, text: changed.text };
  }

  function remove(args: MethodArgs): MethodReply {
    const message = ownMessage(args, "cant_delete_message");
    if ("ok" in message) return message;
    messages.remove(message);
    return { ok: true, channel: message.channel, ts: message.ts };
  }

  function react(args: MethodArgs, present: boolean): MethodReply {
    const { channel, timestamp, name } = args;
    if (channelOf(channel) === undefined) return failure("channel_not_found");
    if (!name || !/^[a-z0-9_+'-]+$/.test(name)) return failure("invalid_name");
    const message = messages.find({ channel: channel ?? "", ts: timestamp ?? "" });
    if (message === undefined) return failure("message_not_found");
    if (message.reactions.includes(name) === present) return failure(present ? "already_reacted" : "no_reaction");
    const others = message.reactions.filter((reaction) => reaction !== name);
    messages.change(message, { reactions: present ? [...others, name] : others });
    return { ok: true };
  }

  function replies(args: MethodArgs): MethodReply {
    const { channel, ts, oldest = "0", inclusive, limit, cursor, include_all_metadata } = args;
    if (channel === undefined || channelOf(channel) === undefined) return failure("channel_not_found");
    const [parent, ...rest] = messages.thread({ channel, ts: ts ?? "" });
    if (parent === undefined || parent.ts !== ts) return failure("thread_not_found");
    const from =
      cursor === undefined
        ? 0
        : Number(
            Buffer.from(cursor, "base64")
              .toString()
              .replace(/^next:/, ""),
          );
    if (!Number.isInteger(from)) return failure("invalid_cursor");
    const wanted = rest.filter((message) =>
      isTrue(inclusive) ? Number(message.ts) >= Number(oldest) : Number(message.ts) > Number(oldest),
    );
    const end = from + Math.min(Number(limit ?? 1000), pageSize);
    const next = end < wanted.length ? Buffer.from(`next:${end}`).toString("base64") : "";
    // As Slack does it: the parent is on every page, however old it is.
    const page = [parent, ...wanted.slice(from, end)];
    return {
      ok: true,
      messages: page.map((message) => toSlack(message, isTrue(include_all_metadata))),
      has_more: next !== "",
      response_metadata: { next_cursor: next },
    };
  }

  const { team, botUser, bot } = workspace;
  return new Map<string, Method>([
    [
      "auth.test",
      () => ({ ok: true, team: "Stand-in", team_id: team, user: "sekisho", user_id: botUser, bot_id: bot }),
    ],
    ["chat.postMessage", postMessage],
    ["chat.update", update],
    ["chat.delete", remove],
    ["reactions.add", (args) => react(args, true)],
    ["reactions.remove", (args) => react(args, false)],
    ["conversations.replies", replies],
  ]);
}

function failure(error: string): MethodReply {
  return { ok: false, error };
}

function isTrue(value: string | undefined): boolean {
  return value === "true" || value === "1";
}

function parseMetadata(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    const value = JSON.parse(text);
    const isValid = typeof value.event_type === "string" && typeof value.event_payload === "object";
    return isValid ? { event_type: value.event_type, event_payload: value.event_payload } : "invalid";
  } catch {
    return "invalid";
  }
}

function toSlack({ ts, threadTs, user, text, metadata }: StandInMessage, withMetadata = true) {
  return {
    type: "message",
    user,
    ...(user === workspace.botUser ? { bot_id: workspace.bot, app_id: workspace.app } : {}),
    text,
    ts,
    team: workspace.team,
    ...(threadTs === undefined ? {} : { thread_ts: threadTs }),
    ...(withMetadata && metadata !== undefined ? { metadata } : {}),
  };
}
