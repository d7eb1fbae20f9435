/** Builds the request of a run: the messages of the conversation, and what the agent should know of the person and the place. */
import { createHash, randomUUID } from "node:crypto";
import type { Part } from "@sekisho/contracts/a2a/part.ts";
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import {
  maxHistoryBytes,
  maxHistoryItems,
  maxHistoryTextLength,
} from "@sekisho/contracts/limits.ts";
import type { AgentContext, AgentTask } from "../agent.ts";
import { type Memory, nameAnswers } from "./memory.ts";

/** A message of AG-UI. Others than ours may have more members. */
export type Message = {
  id: string;
  role: string;
  content?: unknown;
  toolCalls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
  toolCallId?: string | null | undefined;
  subagentRunId?: string | null | undefined;
};

export type ResumeEntry = {
  interruptId: string;
  status: "resolved" | "cancelled";
  payload?: unknown;
};

/** `furtherMessages` follow those of the task. `messageId` is the id that the message of the task had in the run before. */
export type Continuation = {
  messageId: string | undefined;
  furtherMessages: readonly Message[];
  state: unknown;
  resume?: readonly ResumeEntry[] | undefined;
  /** The answer of the older form of interrupts, which LangGraph takes from there. */
  command?: { resume: unknown } | undefined;
};

type RunRequest = {
  task: AgentTask;
  context: Pick<AgentContext, "contextId" | "taskId" | "requestId">;
  protocolVersion: "1.0" | "none";
  continuation: Continuation | undefined;
  /** The memory of the tasks before this one. */
  memory: Memory;
  nowMs: number;
};

/** `state`, `tools`, `context` and `forwardedProps` are never left out, because servers before 1.0 demand them. */
export function createRunInput(request: RunRequest) {
  const { task, protocolVersion, context, continuation, memory } = request;
  const { furtherMessages = [], state = memory.state ?? {}, resume, command } = continuation ?? {};
  return {
    threadId: context.contextId ?? context.taskId,
    runId: randomUUID(),
    messages: mergeMessages(createMessages(request), furtherMessages),
    state,
    tools: [],
    context: listContext(task),
    forwardedProps: command === undefined ? {} : { command },
    ...(resume && { resume }),
    ...(protocolVersion !== "none" && { protocolVersion }),
  };
}

/** A server's own list of messages has ours as well. */
function mergeMessages(messages: readonly Message[], furtherMessages: readonly Message[]) {
  const furtherIds = new Set(furtherMessages.map(({ id }) => id));
  return [...messages.filter(({ id }) => !furtherIds.has(id)), ...furtherMessages];
}

/**
 * A server may know the conversation by the ids of its messages, so a message needs the same id in each run, and no two messages may have
 * one id: it would take the second for read. The request does not say when it was posted, but which message is the one before it.
 */
function createMessages(request: RunRequest): Message[] {
  const { task, context, protocolVersion, continuation, memory, nowMs } = request;
  const { history = [], thread_ts: threadTs } = task;
  const thread = context.contextId ?? context.taskId;
  const earlierMessages = history.map(({ role, text, ts }, index) => {
    const firstPlace = ts !== undefined && ts === threadTs ? rootPlace : ts;
    const place = index === 0 ? firstPlace : history[index - 1]?.ts;
    return {
      id: deriveId([thread, role, place ?? String(index), text]),
      ...{ role, content: text, ts },
    };
  });
  const place =
    history.length > 0
      ? (history.at(-1)?.ts ?? String(history.length))
      : readFirstPlace({ threadTs, memory, nowMs });
  const content = createContent(task, protocolVersion);
  // A server takes an old id with another content for an edited message, and forgets what followed. The history has no files.
  const words = typeof content === "string" ? content : JSON.stringify(content);
  const newId = place === undefined ? context.requestId : deriveId([thread, "user", place, words]);
  const id = continuation?.messageId ?? newId;
  return [
    // The first one of a list that is cut has lost the message before it, and with that its id.
    ...nameAnswers(earlierMessages.slice(isPerhapsCut(task) ? 1 : 0), memory),
    { id, role: "user", content },
  ];
}

/** True if the thread has begun with another message, and one more message may not have fitted. */
function isPerhapsCut({ history = [], thread_ts: threadTs }: AgentTask): boolean {
  if (history[0]?.ts !== undefined && history[0].ts === threadTs) return false;
  // A character of Japanese takes three bytes.
  const maxBytes = maxHistoryBytes - 4 * maxHistoryTextLength;
  return history.length >= maxHistoryItems || !isJsonWithin({ value: history, maxBytes });
}

const maxNewThreadMs = 10 * 60_000;
/** The place of the message that began the thread. Its request does not name the thread, and later ones have it first in their history. */
const rootPlace = "root";

/**
 * Undefined for a message of an older thread whose history the bot may not read or does not send, and for a further one of a whole direct
 * message.
 */
function readFirstPlace(request: {
  threadTs: string | undefined;
  memory: Memory;
  nowMs: number;
}): string | undefined {
  const { threadTs, memory, nowMs } = request;
  const isFirst =
    threadTs === undefined
      ? memory.answers.length === 0 && memory.state === undefined
      : nowMs - Number(threadTs) * 1000 < maxNewThreadMs;
  return isFirst ? rootPlace : undefined;
}

/** A UUID of version 8 (RFC 9562), which is free for hashes. */
export function deriveId(words: readonly string[]): string {
  const hash = createHash("sha256").update(JSON.stringify(words)).digest("hex");
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
}

/** A plain text unless there are files. Servers that know no version know no files either, so they get the names and addresses. */
function createContent({ text, parts }: AgentTask, protocolVersion: "1.0" | "none"): unknown {
  const dataTexts = parts.flatMap(({ data }) => (data === undefined ? [] : [JSON.stringify(data)]));
  const files = parts.filter(({ url, raw }) => url !== undefined || raw !== undefined);
  const areTexts = protocolVersion === "none";
  const fileTexts = areTexts
    ? files.map(({ url = "", filename = "" }) => `${filename} ${url}`)
    : [];
  const wholeText = [text, ...dataTexts, ...fileTexts].filter((each) => each !== "").join("\n");
  if (areTexts || files.length === 0) return wholeText;
  return [...(wholeText === "" ? [] : [{ type: "text", text: wholeText }]), ...files.map(toMedia)];
}

function toMedia({ url, raw, mediaType, filename }: Part) {
  const mimeType = mediaType ?? "application/octet-stream";
  const [kind = ""] = mimeType.split("/");
  return {
    type: ["image", "audio", "video"].includes(kind) ? kind : "document",
    source: { type: url === undefined ? "data" : "url", value: url ?? raw, mimeType },
    ...(filename !== undefined && { metadata: { filename } }),
  };
}

function listContext(task: AgentTask): { description: string; value: string }[] {
  const { user_id, channel, team_id, context = {} } = task;
  const { channel_name, channel_kind, channel_topic } = context;
  return [
    ["Slack user who asks", user_id],
    ["Slack workspace", team_id],
    ["Slack channel", channel],
    ["Name of the Slack channel", channel_name],
    ["Kind of the Slack channel", channel_kind],
    ["Topic of the Slack channel", channel_topic],
  ].flatMap(([description = "", value]) => (value === undefined ? [] : [{ description, value }]));
}
