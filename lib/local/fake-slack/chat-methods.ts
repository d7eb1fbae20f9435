/** `chat.postMessage`, `chat.update`, `chat.delete`, `chat.postEphemeral`. */
import { type FakeSlackBlock, parseBlocks } from "./blocks.ts";
import type { FakeSlackMessage } from "./messages.ts";
import {
  errorReply,
  type FakeSlackCaller,
  type FakeSlackMethod,
  findBotUser,
  findVisibleChannel,
  type MethodArgs,
  type MethodReply,
  readJson,
} from "./reply.ts";
import { readUnfurling, toSlackMessage } from "./slack-message.ts";
import type { FakeSlackState } from "./state.ts";

/** `chat.postMessage` cuts longer texts, `chat.update` refuses them. */
const maxPostLength = 40_000;
const maxUpdateLength = 4000;

export function chatMethods(state: FakeSlackState): Record<string, FakeSlackMethod> {
  const { messages, ephemeral, rules } = state;

  /** Text and blocks of a call. No blocks where the argument is an empty list. */
  function contentOf({
    text,
    blocks: json,
  }: MethodArgs): { text: string; blocks: readonly FakeSlackBlock[] | undefined } | { error: MethodReply } {
    const refusal = refusalOfTexts({ text, blocks: json });
    if (refusal === "invalid_arguments") return { error: errorReply(refusal) };
    if (json === undefined)
      return text && refusal === undefined ? { text, blocks: undefined } : { error: errorReply("no_text") };
    const read = parseBlocks({ json: readJson(json), refusesMarkdown: rules.refusesMarkdown });
    if ("problem" in read) {
      return { error: { ok: false, error: "invalid_blocks", response_metadata: { messages: [read.problem] } } };
    }
    if (refusal !== undefined || (read.blocks.length === 0 && !text)) return { error: errorReply("no_text") };
    return { text: text ?? "", blocks: read.blocks.length === 0 ? undefined : read.blocks };
  }

  const postMessage: FakeSlackMethod = (args, caller) => {
    const { channel, thread_ts, metadata } = args;
    const user = findBotUser(caller);
    if (channel === undefined || user === undefined || findVisibleChannel(caller, channel) === undefined) {
      return errorReply("channel_not_found");
    }
    const content = contentOf(args);
    if ("error" in content) return content.error;
    if (thread_ts !== undefined && messages.find({ channel, ts: thread_ts }) === undefined) {
      return errorReply("invalid_thread_ts");
    }
    const parsed = parseMetadata(metadata);
    if (parsed === "invalid") return errorReply("invalid_metadata_format");
    const { text, blocks } = content;
    const posted = {
      channel,
      threadTs: thread_ts,
      user,
      metadata: parsed,
      ...readUnfurling(args),
      ...(blocks === undefined ? {} : { blocks }),
    };
    const message = messages.add({ ...posted, text: text.slice(0, maxPostLength) });
    // A post of the bot ends its status, as in Slack.
    if (thread_ts !== undefined) ephemeral.setStatus({ channel, threadTs: thread_ts, status: "" });
    return { ok: true, channel, ts: message.ts, message: toSlackMessage({ message, filesUrl: state.filesUrl() }) };
  };

  const update: FakeSlackMethod = (args, caller) => {
    const own = findOwnMessage({ state, args, caller, refusal: "cant_update_message" });
    if ("error" in own) return own.error;
    if (isStreaming({ state, message: own.message })) return errorReply("streaming_state_conflict");
    const content = contentOf(args);
    if ("error" in content) return content.error;
    if (content.text.length > maxUpdateLength) return errorReply("msg_too_long");
    const parsed = parseMetadata(args.metadata);
    if (parsed === "invalid") return errorReply("invalid_metadata_format");
    const changes: Partial<FakeSlackMessage> = {
      text: content.text,
      // A text without blocks takes the place of the blocks.
      blocks: content.blocks,
      edited: true,
      ...readUnfurling(args),
      ...(parsed === undefined ? {} : { metadata: parsed }),
    };
    const changed = messages.change(own.message, changes);
    return { ok: true, channel: changed.channel, ts: changed.ts, text: changed.text };
  };

  const remove: FakeSlackMethod = (args, caller) => {
    const own = findOwnMessage({ state, args, caller, refusal: "cant_delete_message" });
    if ("error" in own) return own.error;
    if (isStreaming({ state, message: own.message })) return errorReply("cant_delete_message");
    messages.remove(own.message);
    return { ok: true, channel: own.message.channel, ts: own.message.ts };
  };

  const postEphemeral: FakeSlackMethod = (args, caller) => {
    const { channel = "", thread_ts: threadTs, user = "" } = args;
    const found = findVisibleChannel(caller, channel);
    if (found === undefined) return errorReply("channel_not_found");
    if (!found.people.includes(user)) return errorReply("user_not_in_channel");
    const content = contentOf(args);
    if ("error" in content) return content.error;
    const ts = messages.newTs();
    ephemeral.postEphemeral({ channel, threadTs, ts, user, text: content.text });
    return { ok: true, message_ts: ts };
  };

  return {
    "chat.postMessage": postMessage,
    "chat.update": update,
    "chat.delete": remove,
    "chat.postEphemeral": postEphemeral,
  };
}

/** Undefined where there is none. */
export function parseMetadata(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  const value = Object(readJson(text)) as { event_type?: unknown; event_payload?: unknown };
  const isValid = typeof value.event_type === "string" && typeof value.event_payload === "object";
  return isValid ? { event_type: value.event_type, event_payload: value.event_payload } : "invalid";
}

// The message that a call is about, if it is the bot's own; streams that Slack has ended are closed by looking.

export function findOwnMessage({
  state,
  args: { channel, ts },
  caller,
  refusal,
}: {
  state: FakeSlackState;
  args: MethodArgs;
  caller: FakeSlackCaller;
  /** The error where the message is somebody else's. */
  refusal: string;
}): { message: FakeSlackMessage } | { error: MethodReply } {
  if (findVisibleChannel(caller, channel) === undefined) return { error: errorReply("channel_not_found") };
  const message = state.messages.find({ channel: channel ?? "", ts: ts ?? "" });
  if (message === undefined) return { error: errorReply("message_not_found") };
  if (message.user !== findBotUser(caller)) return { error: errorReply(refusal) };
  return { message };
}

/** Whether it is being written to: not any more where Slack's time for it is over. */
export function isStreaming({ state, message }: { state: FakeSlackState; message: FakeSlackMessage }): boolean {
  if (message.stream?.state !== "open") return false;
  return state.now() - message.stream.startedAtMs < state.rules.streamLifeMs;
}

// What a message would show, as far as Slack refuses it: half characters, and nothing that anybody could see.

const visible = /[^\p{C}\p{Z}\p{M}\s\u115F\u1160\u3164\uFFA0\u2800]/u;

/** `blocks` is JSON. Slack's own errors; undefined where a person sees something. */
function refusalOfTexts({
  text = "",
  blocks,
}: {
  text?: string | undefined;
  blocks?: string | undefined;
}): "invalid_arguments" | "no_text" | undefined {
  const inBlocks = textsIn(blocks === undefined ? [] : readJson(blocks));
  const shown = inBlocks.length === 0 ? [text] : inBlocks;
  if (![text, ...inBlocks].every((each) => each.isWellFormed())) return "invalid_arguments";
  return shown.some((each) => visible.test(each)) ? undefined : "no_text";
}

function textsIn(value: unknown): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === "text" && typeof member === "string" ? [member] : textsIn(member),
  );
}
