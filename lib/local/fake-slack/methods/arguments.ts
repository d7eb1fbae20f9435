/** Arguments that several Web API methods share, each checked as Slack does: its value for the method, or Slack's error. */

import { readJson } from "../../read-json.ts";
import { type FakeSlackBlock, isTooLong, parseBlocks } from "../blocks.ts";
import type { FakeSlackMessage } from "../messages.ts";
import { type FakeSlackCaller, findVisibleChannel, type MethodArgs } from "../reply.ts";
import type { FakeSlackState } from "../state.ts";
import type { FakeSlackChannel } from "../workspace.ts";

/** `bot` is the user ID that acts for the caller. */
export type MethodContext = {
  args: MethodArgs;
  caller: FakeSlackCaller;
  bot: string;
  state: FakeSlackState;
};

/** `channel` and `message` are there for arguments that are checked after them. */
type Checking = MethodContext & {
  channel?: FakeSlackChannel | undefined;
  message?: FakeSlackMessage;
};

const maxPieceLength = 12_000;
/** Characters that a person sees. */
const visible = /[^\p{C}\p{Z}\p{M}\s\u115F\u1160\u3164\uFFA0\u2800]/u;

type StreamingMessage = FakeSlackMessage & { stream: object };

export const argumentChecks = {
  channel: ({ args, caller }: Checking) => channelNamed(caller, args.channel),
  /** A public channel that the bot is not in may be looked at as well. */
  any_channel: ({ args, caller }: Checking) => {
    const channel = findVisibleChannel(caller, args.channel);
    return channel === undefined ? { error: "channel_not_found" as const } : { channel };
  },
  channel_id: ({ args, caller }: Checking) => channelNamed(caller, args.channel_id),
  "channel_id?": ({ args, caller }: Checking) =>
    args.channel_id === undefined ? { channel: undefined } : channelNamed(caller, args.channel_id),

  thread_ts: (call: Checking) => {
    const threadTs = messageAt(call, call.args.thread_ts)?.ts;
    return threadTs === undefined ? { error: "invalid_thread_ts" as const } : { threadTs };
  },
  /** Without a channel it means nothing. */
  "thread_ts?": (call: Checking) => {
    const { thread_ts: threadTs } = call.args;
    const isKnown =
      threadTs === undefined ||
      call.channel === undefined ||
      messageAt(call, threadTs) !== undefined;
    return isKnown ? { threadTs } : { error: "invalid_thread_ts" as const };
  },

  ts: (call: Checking) => messageOrError(messageAt(call, call.args.ts)),
  message_ts: (call: Checking) => messageOrError(messageAt(call, call.args.message_ts)),
  timestamp: (call: Checking) => messageOrError(messageAt(call, call.args.timestamp)),

  /** The message of `ts` as a stream that the bot may write to. */
  stream: ({ bot, state, message }: Checking) => {
    if (message?.user !== bot) return { error: "message_not_owned_by_app" as const };
    if (isStreaming(state, message)) return { stream: message.stream };
    const { stream } = message;
    if (stream?.state === "stopped_by_user") return { error: "stopped_by_user" as const };
    if (stream?.state === "open")
      state.messages.change(message, { stream: { ...stream, state: "closed" } });
    return { error: "message_not_in_streaming_state" as const };
  },

  name: ({ args: { name = "" } }: Checking) =>
    /^[a-z0-9_+'-]+$/.test(name) ? { name } : { error: "invalid_name" as const },

  "cursor?": ({ args: { cursor } }: Checking) => {
    const from =
      cursor === undefined
        ? 0
        : Number(
            Buffer.from(cursor, "base64")
              .toString()
              .replace(/^next:/, ""),
          );
    return Number.isInteger(from) ? { from } : { error: "invalid_cursor" as const };
  },

  /** `text` and `blocks`. Refuses half characters, and a message without anything visible. */
  content: (call: Checking) => {
    const { text = "", blocks: json } = call.args;
    const inBlocks = textsIn(readJson(json));
    if (![text, ...inBlocks].every((each) => each.isWellFormed()))
      return { error: "invalid_arguments" as const };
    const blocksResult = json === undefined ? { blocks: [] } : readBlocks(call, json);
    if ("error" in blocksResult) return blocksResult;
    const { blocks } = blocksResult;
    if (isTooLong(blocks)) return { error: "msg_blocks_too_long" as const };
    const shownTexts = inBlocks.length === 0 ? [text] : inBlocks;
    const isEmpty = blocks.length === 0 && text === "";
    if (isEmpty || !shownTexts.some((each) => visible.test(each)))
      return { error: "no_text" as const };
    return { text, blocks: blocks.length === 0 ? undefined : blocks };
  },

  "blocks?": (call: Checking) =>
    call.args.blocks === undefined
      ? { blocks: [] as readonly FakeSlackBlock[] }
      : readBlocks(call, call.args.blocks),

  "metadata?": ({ args }: Checking) => {
    if (args.metadata === undefined) return { metadata: undefined };
    const { event_type, event_payload } = Object(readJson(args.metadata));
    const isValid = typeof event_type === "string" && typeof event_payload === "object";
    return isValid
      ? { metadata: { event_type, event_payload } }
      : { error: "invalid_metadata_format" as const };
  },

  /** The text that a call adds to a stream: `markdown_text`, or the `chunks` that hold text. */
  piece: ({ args: { markdown_text: text = "", chunks } }: Checking) => {
    const list = chunks === undefined ? [{ type: "markdown_text", text }] : readJson(chunks);
    const isValid =
      Array.isArray(list) && list.every((chunk) => typeof Object(chunk).type === "string");
    if (!isValid || (chunks !== undefined && text !== ""))
      return { error: "invalid_chunks" as const };
    const piece = list
      .map((chunk) => (chunk.type === "markdown_text" ? String(chunk.text ?? "") : ""))
      .join("");
    return piece.length > maxPieceLength ? { error: "msg_too_long" as const } : { piece };
  },
};

export type ArgumentName = keyof typeof argumentChecks;
type Checked<A extends ArgumentName> = ReturnType<(typeof argumentChecks)[A]>;
export type CheckError<A extends ArgumentName> = Extract<Checked<A>, { error: string }>["error"];
type Value<A extends ArgumentName> = Exclude<Checked<A>, { error: string }>;
/** The values of all arguments in `A` as one object. */
export type CheckedArguments<A extends ArgumentName> = {
  [N in A]: (value: Value<N>) => void;
}[A] extends (all: infer All) => void
  ? All
  : never;

function channelNamed(caller: FakeSlackCaller, id: string | undefined) {
  const channel = findVisibleChannel(caller, id);
  if (channel === undefined) return { error: "channel_not_found" as const };
  return channel.withoutBot ? { error: "not_in_channel" as const } : { channel };
}

function messageAt(
  { state, channel }: Checking,
  ts: string | undefined,
): FakeSlackMessage | undefined {
  return state.messages.find({ channel: channel?.id ?? "", ts: ts ?? "" });
}

function messageOrError(message: FakeSlackMessage | undefined) {
  return message === undefined ? { error: "message_not_found" as const } : { message };
}

function readBlocks({ state }: Checking, json: string) {
  const result = parseBlocks({
    json: readJson(json),
    refusesMarkdown: state.rules.refusesMarkdown,
  });
  if ("blocks" in result) return result;
  return { error: "invalid_blocks" as const, response_metadata: { messages: [result.problem] } };
}

/** False as soon as Slack's time for the stream is over. */
export function isStreaming(
  { now, rules }: FakeSlackState,
  message: FakeSlackMessage,
): message is StreamingMessage {
  return (
    message.stream?.state === "open" && now() - message.stream.startedAtMs < rules.streamLifeMs
  );
}

function textsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === "text" && typeof member === "string" ? [member] : textsIn(member),
  );
}
