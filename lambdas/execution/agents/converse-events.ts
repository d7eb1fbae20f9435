/** Reads the events in which Converse, Strands and the harness of AgentCore write an answer. */
import { readMember, readPath, readText } from "./http-answer.ts";

/** A piece of an answer. */
export type Piece = {
  text: string;
  /** True if the text before this frame was no part of the answer. */
  isFirst?: boolean;
  /** Nothing after it belongs to the answer. */
  isLast?: boolean;
};

const events = [
  ...["messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop"],
];
/** After these, the agent works on and writes a further message. */
const openReasons: readonly unknown[] = ["tool_use", "tool_result"];

/** An agent that uses tools sends several messages, of which each may have text. */
export function createBedrockReader() {
  let isUsed = false;
  let isOpen = false;
  let isBetween = false;
  let hasText = false;
  let stopReason: string | undefined;

  function readDelta(text: unknown): string {
    if (typeof text !== "string" || text === "") return "";
    const separator = isBetween && hasText ? "\n\n" : "";
    isBetween = false;
    hasText = true;
    return separator + text;
  }

  return {
    isUsed: () => isUsed,
    /** True within a message, and between two of one answer. */
    isOpen: () => isOpen,
    /** The stop reason of the latest message. Undefined before its first end. */
    stopReason: () => stopReason,
    /** Undefined if it is no such event. */
    read(event: unknown): Piece | undefined {
      const name = events.find((each) => readMember(event, each) !== undefined);
      if (name === undefined) return undefined;
      const isFirst = !isUsed;
      isUsed = true;
      const content = readMember(event, name);
      if (name === "messageStart") isOpen = true;
      if (name === "messageStop") {
        isBetween = true;
        stopReason = readText(readMember(content, "stopReason")) ?? "end_turn";
        isOpen = openReasons.includes(stopReason);
      }
      return { text: readDelta(readPath(content, "$.delta.text")), isFirst };
    },
  };
}
