/** `chat.startStream`, `chat.appendStream`, `chat.stopStream`: a message that is written piece by piece. */
import { parseBlocks } from "./blocks.ts";
import { findOwnMessage, isStreaming, parseMetadata } from "./chat-methods.ts";
import type { FakeSlackMessage } from "./messages.ts";
import {
  errorReply,
  type FakeSlackCaller,
  type FakeSlackMethod,
  findBotUser,
  findVisibleChannel,
  type MethodArgs,
  readJson,
} from "./reply.ts";
import { readUnfurling } from "./slack-message.ts";
import type { FakeSlackState } from "./state.ts";
import { findFakePerson, findFakeTeam } from "./workspace.ts";

/** Of one piece. */
const maxPieceLength = 12_000;

export function streamMethods(state: FakeSlackState): Record<string, FakeSlackMethod> {
  const { messages, ephemeral, now } = state;

  function openStream(args: MethodArgs, caller: FakeSlackCaller) {
    const own = findOwnMessage({ state, args, caller, refusal: "message_not_owned_by_app" });
    if ("error" in own) return own;
    if (isStreaming({ state, message: own.message })) return own;
    if (own.message.stream?.state === "open") close(own.message);
    return { error: errorReply("message_not_in_streaming_state") };
  }

  function close(message: FakeSlackMessage, changes: Partial<FakeSlackMessage> = {}): void {
    if (message.stream === undefined) return;
    messages.change(message, { ...changes, stream: { ...message.stream, state: "closed" } });
  }

  const startStream: FakeSlackMethod = (args, caller) => {
    const { channel = "", thread_ts: threadTs, recipient_user_id: user, recipient_team_id: team } = args;
    const found = findVisibleChannel(caller, channel);
    const bot = findBotUser(caller);
    if (found === undefined || bot === undefined) return errorReply("channel_not_found");
    if (threadTs === undefined || messages.find({ channel, ts: threadTs }) === undefined) {
      return errorReply("invalid_thread_ts");
    }
    if (!found.direct && !user) return errorReply("missing_recipient_user_id");
    if (!found.direct && !team) return errorReply("missing_recipient_team_id");
    if (user !== undefined && findFakePerson(user) === undefined) return errorReply("user_not_found");
    if (team !== undefined && findFakeTeam(team) === undefined) return errorReply("team_not_found");
    const piece = readPiece(args);
    if (piece === undefined) return errorReply("invalid_chunks");
    if (piece.length > maxPieceLength) return errorReply("msg_too_long");
    const stream = { state: "open", startedAtMs: now() } as const;
    const shown = { ...createStreamContent(piece), ...readUnfurling(args) };
    const message = messages.add({ channel, threadTs, user: bot, metadata: undefined, ...shown, stream });
    ephemeral.setStatus({ channel, threadTs, status: "" });
    return { ok: true, channel, ts: message.ts };
  };

  const appendStream: FakeSlackMethod = (args, caller) => {
    const own = openStream(args, caller);
    if ("error" in own) return own.error;
    const piece = readPiece(args);
    if (piece === undefined) return errorReply("invalid_chunks");
    if (piece === "") return errorReply("no_text");
    if (piece.length > maxPieceLength) return errorReply("msg_too_long");
    messages.change(own.message, { ...createStreamContent(own.message.text + piece), ...readUnfurling(args) });
    return { ok: true, channel: own.message.channel, ts: own.message.ts };
  };

  const stopStream: FakeSlackMethod = (args, caller) => {
    const own = openStream(args, caller);
    if ("error" in own) return own.error;
    const piece = readPiece(args);
    if (piece === undefined) return errorReply("invalid_chunks");
    const metadata = parseMetadata(args.metadata);
    if (metadata === "invalid") return errorReply("invalid_metadata_format");
    const added = args.blocks === undefined ? [] : blocksAtEnd(args.blocks);
    if (added === undefined) return errorReply("invalid_blocks");
    const { text, blocks = [] } = createStreamContent(own.message.text + piece);
    const all = [...blocks, ...added];
    close(own.message, {
      text,
      ...readUnfurling(args),
      ...(all.length === 0 ? {} : { blocks: all }),
      ...(metadata === undefined ? {} : { metadata }),
    });
    return { ok: true, channel: own.message.channel, ts: own.message.ts };
  };

  function blocksAtEnd(json: string) {
    const read = parseBlocks({ json: readJson(json), refusesMarkdown: state.rules.refusesMarkdown });
    return "problem" in read ? undefined : read.blocks;
  }

  return { "chat.startStream": startStream, "chat.appendStream": appendStream, "chat.stopStream": stopStream };
}

function createStreamContent(markdown: string): Pick<FakeSlackMessage, "text" | "blocks"> {
  return markdown === "" ? { text: "" } : { text: markdown, blocks: [{ type: "markdown", text: markdown }] };
}

/** The text of `markdown_text`, or of the chunks of which it consists; other chunks say nothing here. */
function readPiece({ markdown_text: text = "", chunks }: MethodArgs): string | undefined {
  if (chunks === undefined) return text;
  const list = readJson(chunks);
  if (!Array.isArray(list) || text !== "") return undefined;
  const known = list.every((chunk) => typeof Object(chunk).type === "string");
  if (!known) return undefined;
  return list.map((chunk) => (chunk.type === "markdown_text" ? String(chunk.text ?? "") : "")).join("");
}
