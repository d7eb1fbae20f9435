/** Collects the texts and tool calls of a run as messages, and checks that each text begins, goes on and ends in this order. */
import { isNestedTooDeep } from "@sekisho/runtime/untrusted-input.ts";
import { createEventError } from "../remote-call.ts";
import type { AgUiEvent, EventOf } from "./events.ts";
import type { Message } from "./request.ts";

export type RunMessages = {
  /** The texts and calls of the main agent, in the order of their beginning, and the results of its tools. */
  messages: Message[];
  /** False if calls and results are too large to be sent again. Then some are missing. */
  isWhole: boolean;
  /** The names of the tools that were called, by the ids of the calls. */
  toolNames: Map<string, string>;
  /** The ids of calls that have no result, and after which the agent wrote nothing more. */
  openCalls: Set<string>;
};

/** The most characters of all tool calls with their results, so that a question can store them. */
const maxCallsLength = 64 * 1024;
const maxMessages = 10_000;

/** Texts of messages, with a blank line between them. */
export function joinTexts(messages: readonly Message[]): string {
  return messages
    .flatMap(({ role, content }) =>
      role === "assistant" && typeof content === "string" && content.trim() !== "" ? [content] : [],
    )
    .join("\n\n");
}

export function createMessageReader(run: RunMessages) {
  const byId = new Map<string, Message>();

  /** A message may be reopened, and a text and a call may be parts of one message. */
  function findOrAdd(id: string): Message {
    const knownMessage = byId.get(id);
    if (knownMessage !== undefined) return knownMessage;
    if (run.messages.length >= maxMessages) throw createEventError("messages: too many");
    const message = { id, role: "assistant" };
    run.messages.push(message);
    byId.set(id, message);
    return message;
  }

  const texts = createTextReader({ run, findOrAdd });
  const calls = createCallReader({ run, findOrAdd });
  const isOfSubagent = createOwnerReader({
    isOfMainAgent: (id) => byId.has(id) || calls.has(id),
    hasOpenChunks: (type) => (type === "TEXT_MESSAGE_CHUNK" ? texts : calls).hasChunks(),
  });
  return {
    textLength: texts.length,
    /** Throws if a text is still open, because it is not whole. */
    checkClosed(): void {
      texts.endChunks();
      if (texts.hasOpen()) throw createEventError("RUN_FINISHED: a text message is open");
    },
    add(event: AgUiEvent): { hasText?: boolean; toolName?: string; parts?: readonly unknown[] } {
      const isForeign = isOfSubagent(event);
      if (event.type === "TOOL_CALL_RESULT") {
        if (!isForeign) calls.addResult(event);
        return typeof event.content === "string" ? {} : { parts: event.content };
      }
      if (isForeign) return {};
      if (event.type !== "TEXT_MESSAGE_CHUNK") texts.endChunks();
      if (event.type !== "TOOL_CALL_CHUNK") calls.endChunks();
      return texts.add(event) ?? calls.add(event);
    },
  };
}

/** A subagent may name itself only where it begins a text or a call. What follows belongs to the same agent. */
function createOwnerReader(main: {
  isOfMainAgent: (id: string) => boolean;
  hasOpenChunks: (type: AgUiEvent["type"]) => boolean;
}): (event: AgUiEvent) => boolean {
  const foreignIds = new Set<string>();
  const foreignChunks = new Set<AgUiEvent["type"]>();
  return (event) => {
    const { type, toolCallId, messageId, parentMessageId, subagentRunId } = readIds(event);
    const id = toolCallId ?? messageId;
    if (id === undefined && subagentRunId === undefined)
      return foreignChunks.has(type) && !main.hasOpenChunks(type);
    const isKnown = id !== undefined && main.isOfMainAgent(id);
    if (subagentRunId !== undefined && isKnown && type !== "TOOL_CALL_RESULT")
      throw createEventError(`${type}.subagentRunId: another agent began it`);
    const isNamed = subagentRunId !== undefined && !isKnown;
    const isForeign = [id, parentMessageId].some((each) => foreignIds.has(each ?? ""));
    if (!isNamed && !isForeign) return false;
    if (id !== undefined) foreignIds.add(id);
    if (type.endsWith("_CHUNK")) foreignChunks.add(type);
    return true;
  };
}

/** Each type of event has some of them. */
function readIds(event: AgUiEvent): { type: AgUiEvent["type"] } & {
  [name in "toolCallId" | "messageId" | "parentMessageId" | "subagentRunId"]?: string | undefined;
} {
  return event;
}

type Parts = { run: RunMessages; findOrAdd: (id: string) => Message };

function createTextReader({ run, findOrAdd }: Parts) {
  /** The messages that are written now. Undefined for one that is not of the agent, such as a system message. */
  const openTexts = new Map<string, Message | undefined>();
  /** The message that chunks write, which end it without an event of its own. */
  let chunkedId: string | undefined;
  let length = 0;

  function open(messageId: string, role = "assistant"): void {
    openTexts.set(messageId, role === "assistant" ? findOrAdd(messageId) : undefined);
  }

  function append(messageId: string, delta: string): { hasText?: boolean } {
    const message = openTexts.get(messageId);
    if (message === undefined || delta === "") return {};
    message.content = `${message.content ?? ""}${delta}`;
    length += delta.length;
    // The agent went on, so it waits for no tool.
    run.openCalls.clear();
    return { hasText: true };
  }

  function endChunks(): void {
    if (chunkedId !== undefined) openTexts.delete(chunkedId);
    chunkedId = undefined;
  }

  function addChunk(event: EventOf<"TEXT_MESSAGE_CHUNK">): { hasText?: boolean } {
    const { type, messageId = chunkedId, role, delta = "" } = event;
    if (messageId === undefined) throw createEventError(`${type}.messageId: missing`);
    if (messageId !== chunkedId) {
      endChunks();
      open(messageId, role);
      chunkedId = messageId;
    }
    return append(messageId, delta);
  }

  return {
    endChunks,
    length: () => length,
    hasChunks: () => chunkedId !== undefined,
    hasOpen: () => openTexts.size > 0,
    /** Returns undefined for an event that is about no text. */
    add(event: AgUiEvent): { hasText?: boolean } | undefined {
      switch (event.type) {
        case "TEXT_MESSAGE_CHUNK":
          return addChunk(event);
        case "TEXT_MESSAGE_START":
          if (openTexts.has(event.messageId))
            throw createEventError(`${event.type}.messageId: open already`);
          open(event.messageId, event.role);
          return {};
        case "TEXT_MESSAGE_CONTENT":
          if (!openTexts.has(event.messageId))
            throw createEventError(`${event.type}.messageId: not open`);
          return append(event.messageId, event.delta);
        case "TEXT_MESSAGE_END":
          if (!openTexts.delete(event.messageId))
            throw createEventError(`${event.type}.messageId: not open`);
          return {};
        default:
          return undefined;
      }
    },
  };
}

function createCallReader({ run, findOrAdd }: Parts) {
  const calls = new Map<string, NonNullable<Message["toolCalls"]>[number]>();
  let chunkedId: string | undefined;
  let length = 0;

  function open(id: string, name: string, messageId = id): void {
    if (calls.size >= maxMessages) throw createEventError("tool calls: too many");
    const call = { id, type: "function" as const, function: { name, arguments: "" } };
    const message = findOrAdd(messageId);
    message.toolCalls ??= [];
    message.toolCalls.push(call);
    calls.set(id, call);
    run.toolNames.set(id, name);
    run.openCalls.add(id);
  }

  function isKept(addedLength: number): boolean {
    length += addedLength;
    run.isWhole &&= length <= maxCallsLength;
    return run.isWhole;
  }

  function append(id: string, delta: string): void {
    const call = calls.get(id);
    if (call !== undefined && isKept(delta.length)) call.function.arguments += delta;
  }

  function addChunk(event: EventOf<"TOOL_CALL_CHUNK">): { toolName?: string } {
    const { type, toolCallId = chunkedId, toolCallName, parentMessageId, delta = "" } = event;
    if (toolCallId === undefined) throw createEventError(`${type}.toolCallId: missing`);
    chunkedId = toolCallId;
    const isNew = !calls.has(toolCallId);
    if (isNew && toolCallName === undefined)
      throw createEventError(`${type}.toolCallName: missing`);
    if (isNew && toolCallName !== undefined) open(toolCallId, toolCallName, parentMessageId);
    append(toolCallId, delta);
    return isNew && toolCallName !== undefined ? { toolName: toolCallName } : {};
  }

  return {
    has: (id: string) => calls.has(id),
    hasChunks: () => chunkedId !== undefined,
    endChunks(): void {
      chunkedId = undefined;
    },
    addResult({ messageId: id, toolCallId, content }: EventOf<"TOOL_CALL_RESULT">): void {
      run.openCalls.delete(toolCallId);
      const isDeep = isNestedTooDeep(content);
      if (isKept(isDeep ? Number.POSITIVE_INFINITY : JSON.stringify(content).length))
        run.messages.push({ id, role: "tool", toolCallId, content });
    },
    add(event: AgUiEvent): { toolName?: string } {
      switch (event.type) {
        case "TOOL_CALL_CHUNK":
          return addChunk(event);
        case "TOOL_CALL_START":
          if (calls.has(event.toolCallId))
            throw createEventError(`${event.type}.toolCallId: known already`);
          open(event.toolCallId, event.toolCallName, event.parentMessageId);
          return { toolName: event.toolCallName };
        case "TOOL_CALL_ARGS":
          append(event.toolCallId, event.delta);
          return {};
        default:
          return {};
      }
    },
  };
}
