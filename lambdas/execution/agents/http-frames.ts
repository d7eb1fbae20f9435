/**
 * Reads the text of an answer from a stream of events, of which there is no standard: texts, events of Bedrock as Strands passes them on,
 * JSON objects, and lines that are no JSON.
 */
import { createBedrockReader, type Piece } from "./converse-events.ts";
import {
  answerMembers,
  createUnreadable,
  findText,
  readMember,
  readPath,
  readText,
  refuseError,
} from "./http-answer.ts";
import { createEventError } from "./remote-error.ts";
import type { ServerSentEvent } from "./server-sent-events.ts";

export type FrameReader = {
  /** Throws a RemoteError for a failure that the stream reports. */
  read(frame: ServerSentEvent): Piece;
  /** The rest of the answer. Throws a RemoteError if there was no answer, or only the beginning of one. */
  end(): { text: string; stopReason: string };
};

/** The names of events with text of the answer, in the line `event` or in the member. Others, such as `ping`, `metadata` and `end`, describe the stream. */
const textEvents: readonly string[] = [
  ...["", "message", "agent_message", "token", "text", "delta", "data", "chunk", "answer"],
];
/** The types of objects that hold a piece of the answer, and the members that hold it. */
const pieceTypes: readonly unknown[] = [
  ...[undefined, "token", "text", "delta", "text-delta", "text_delta", "chunk", "content"],
];
const pieceMembers = ["data", "token", "delta", "text", "content"];
const nothing: Piece = { text: "" };

/** `path` is where each event has its piece of the answer. `onJson` gets each event that is JSON. */
export function createFrameReader(options: {
  path?: string | undefined;
  onJson?: (json: unknown) => void;
}): FrameReader {
  const { path, onJson = () => {} } = options;
  let hasText = false;
  let hasRawText = false;
  /** The answer as a whole, which some send beside its pieces. */
  const whole = createWholeReader();
  const bedrock = createBedrockReader();
  const dify = createDifyReader();
  const graph = createGraphReader();

  function readFrame({ event, data, isCut }: ServerSentEvent): Piece {
    if (data.trim() === "[DONE]") return { text: "", isLast: true };
    if (event === "error") throw createUnreadable("an event error reports a failure");
    const json = parseJson(data);
    if (json === undefined) {
      if (isCut && /^["{[]/.test(data)) throw createEventError("the stream ends within an event");
      if (path !== undefined || bedrock.isUsed() || !textEvents.includes(event)) return nothing;
      hasRawText = true;
      return { text: data };
    }
    onJson(json);
    refuseError(json);
    if ([readMember(json, "type"), readMember(json, "event")].includes("error"))
      throw createUnreadable("an event of type error reports a failure");
    const difyPiece = dify.read(json);
    if (difyPiece !== undefined) return difyPiece;
    if (event === "messages" && path === undefined) return graph.read(json);
    if (path !== undefined) return { text: readText(readPath(json, path)) ?? "" };
    const piece = bedrock.read(readMember(json, "event"));
    if (piece !== undefined) return piece;
    // Whatever is sent beside them repeats them, such as a dictionary of Python as a text.
    if (bedrock.isUsed() || !textEvents.includes(event)) return nothing;
    if (json === null) return { text: hasRawText ? data : "" };
    if (typeof json !== "object")
      return { text: typeof json === "string" && !hasRawText ? json : data };
    return readObject(json) ?? (hasRawText ? { text: data } : nothing);
  }

  function readObject(json: object): Piece | undefined {
    const event = readMember(json, "event");
    if (isText(event) && !textEvents.includes(event)) return nothing;
    const members = pieceTypes.includes(readMember(json, "type")) ? pieceMembers : [];
    const piece = members.map((name) => readMember(json, name)).find((each) => isText(each));
    if (piece !== undefined) return { text: piece };
    // A piece may be only a space or a line end.
    const text = findText(json, answerMembers) ?? findBlank(json);
    if (text !== undefined) whole.add(text);
    return text === undefined ? undefined : nothing;
  }

  return {
    read(frame) {
      const piece = readFrame(frame);
      hasText = (hasText && !piece.isFirst) || piece.text.trim() !== "";
      return piece;
    },
    end() {
      if (bedrock.isOpen()) throw createEventError("the stream ends before the last messageStop");
      if (dify.isOpen()) throw createEventError("the stream ends before message_end");
      const wholeText = whole.text();
      if (!hasText && wholeText.trim() === "")
        throw createUnreadable(`no event has a text ${path === undefined ? "" : `at ${path}`}`);
      return { text: hasText ? "" : wholeText, stopReason: bedrock.stopReason() ?? "end_turn" };
    },
  };
}

/** Joins texts. Those of which each begins with the one before are one answer that grows, so the latest has it all. */
function createWholeReader() {
  let joinedText = "";
  let latestText = "";
  let isGrowing = true;
  return {
    add(text: string): void {
      if (latestText === "" && text.trim() === "") return;
      isGrowing &&= text.startsWith(latestText);
      joinedText += text;
      latestText = text;
    },
    text: () => (isGrowing ? latestText : joinedText),
  };
}

/** The events of Dify, which name the message that they belong to. Others of its events have no text of the answer. */
function createDifyReader() {
  let isOpen = false;
  return {
    isOpen: () => isOpen,
    /** Undefined if it is no such event. */
    read(json: unknown): Piece | undefined {
      const [event, answer, id] = ["event", "answer", "message_id"].map((name) =>
        readMember(json, name),
      );
      if (event === "human_input_required" || event === "workflow_paused")
        throw createUnreadable("the workflow waits for a form of its own");
      if (event === "message_end" || event === "workflow_finished") isOpen = false;
      if (!isText(id) || !isText(answer)) return undefined;
      // Moderation takes back what was written so far.
      if (event === "message_replace") return { text: answer, isFirst: true };
      if (event !== "message" && event !== "agent_message") return undefined;
      isOpen = true;
      return { text: answer };
    },
  };
}

/** The events `messages` of a LangGraph server: a piece of a message, and what is known of it. Tools and people write messages as well. */
function createGraphReader() {
  let latestId: unknown;
  let hasText = false;
  return {
    read(json: unknown): Piece {
      const [type, id] = ["$[0].type", "$[0].id"].map((path) => readPath(json, path));
      const text = readText(readPath(json, "$[0].content")) ?? "";
      if ((type !== "AIMessageChunk" && type !== "ai") || text === "") return nothing;
      const isNext = hasText && id !== latestId;
      latestId = id;
      hasText = true;
      return { text: isNext ? `\n\n${text}` : text };
    },
  };
}

function findBlank(json: object): string | undefined {
  const values = answerMembers.map((name) => readMember(json, name));
  return values.filter(isText).find((text) => text !== "");
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function parseJson(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}
