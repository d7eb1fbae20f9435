/** Decides what came of a run: an answer, a question or a failure. */
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import {
  isJsonObject,
  isNestedTooDeep,
  lastOfEachId,
  truncate,
} from "@sekisho/runtime/untrusted-input.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { TaskUpdate } from "../agent.ts";
import { createEventError, RemoteError } from "../remote-error.ts";
import type { Interrupt, TokenUsage } from "./events.ts";
import { type Ask, kana } from "./form.ts";
import { joinTexts } from "./messages.ts";
import { createQuestion, type QuestionState } from "./question.ts";
import type { Message } from "./request.ts";
import type { Run } from "./run.ts";

/** More fit into no question. */
const maxAsks = 20;

/** `sentMessages` are those of the request. `earlierMessages` and `earlierUsage` are of the runs before this one of the same task. */
export function createOutcome(request: {
  run: Run;
  sentMessages: readonly Message[];
  earlierMessages: readonly Message[];
  earlierUsage: Record<string, number> | undefined;
}): TaskUpdate {
  const { run, sentMessages, earlierMessages, earlierUsage } = request;
  const { end } = run;
  if (end === undefined) throw createEventError("the stream ended before the run");
  if (end === "error") throw new RemoteError("RUN_ERROR", { lost: false });
  if (end.outcome?.type === "cancelled")
    throw new RemoteError("RUN_FINISHED.outcome: cancelled", { lost: false });
  const usage = addUsage(earlierUsage, end.usage ?? []);
  const text = readAnswer({ run, sentMessages });
  // Two with one id are one for the agent, which gives the answer to the first.
  const asks = lastOfEachId(listAsks(run).reverse()).reverse();
  if (asks.length === 0) {
    const answer = text !== "" || typeof end.result !== "string" ? text : end.result;
    return { type: "answer", text: answer, ...(usage && { usage }) };
  }
  if (asks.length > maxAsks) throw createEventError("RUN_FINISHED.outcome.interrupts: too many");
  const messages = readMessages({ run, earlierMessages });
  const state: QuestionState = {
    ...{ agUi: 1, asks, answers: [] },
    messageId: sentMessages.findLast(({ role }) => role === "user")?.id,
    isJapanese: kana.test(text + asks.map(({ prompt }) => prompt).join("")),
    ...(messages !== undefined && { messages }),
    ...(run.state !== undefined && { state: run.state }),
    ...(usage && { usage }),
  };
  return createQuestion({ state, text });
}

/** The id of the message that ends the answer. A server that lists its messages may give a message another id than it streamed. */
export function readAnswerId(request: { run: Run; sentMessages: readonly Message[] }) {
  const listedMessages = listNewMessages(request).filter(hasText);
  const { id } = listedMessages.at(-1) ?? request.run.messages.findLast(hasText) ?? {};
  return id;
}

function hasText({ role, content }: Message): boolean {
  return role === "assistant" && typeof content === "string" && content.trim() !== "";
}

/** The streamed text, else the agent's messages after the last one that it was sent. A server may list earlier messages only. */
function readAnswer(request: { run: Run; sentMessages: readonly Message[] }): string {
  const streamedText = joinTexts(request.run.messages);
  return streamedText === "" ? joinTexts(listNewMessages(request)) : streamedText;
}

/** The messages of the main agent in a snapshot that follow the last one that it was sent. */
function listNewMessages({ run, sentMessages }: Parameters<typeof readAnswer>[0]): Message[] {
  const { snapshot = [] } = run;
  const sentIds = new Set(sentMessages.map(({ id }) => id));
  const question = readWords(sentMessages.findLast(({ role }) => role === "user")?.content);
  // A server that keeps the conversation also lists its earlier answers, with ids that are not ours.
  const start = snapshot.findLastIndex(({ id, role }) => role === "user" || sentIds.has(id));
  const { id = "", content } = snapshot[start] ?? {};
  if (start >= 0 && !sentIds.has(id) && !readWords(content).includes(question)) return [];
  return snapshot.slice(start + 1).filter(({ subagentRunId }) => !subagentRunId);
}

/** The text of a message without its files. */
function readWords(content: unknown): string {
  if (typeof content === "string") return content;
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  return parts
    .map((part) => (Object(part) as { text?: unknown }).text)
    .filter((text) => typeof text === "string")
    .join("\n");
}

/** The messages to send when the run goes on. Undefined if they are not whole. */
function readMessages({
  run,
  earlierMessages,
}: {
  run: Run;
  earlierMessages: readonly Message[];
}): Message[] | undefined {
  const { snapshot, messages, isWhole } = run;
  if (snapshot !== undefined) return snapshot.filter(({ role }) => role !== "activity");
  return isWhole ? [...earlierMessages, ...messages] : undefined;
}

function listAsks({ end, legacyInterrupts, openCalls, toolNames, snapshot = [] }: Run): Ask[] {
  const { outcome } = Object(end) as Partial<Extract<Run["end"], object>>;
  if (outcome?.type === "interrupt") {
    if (outcome.interrupts == null || outcome.interrupts.length === 0)
      throw createEventError("RUN_FINISHED.outcome.interrupts: missing");
    return outcome.interrupts.map((interrupt) => toAsk("interrupt", interrupt));
  }
  if (legacyInterrupts.length > 0)
    return legacyInterrupts.map((interrupt) => toAsk("legacy", interrupt));
  const answeredCalls = new Set(snapshot.map(({ toolCallId }) => toolCallId));
  const callIds =
    outcome?.pendingToolCallIds ?? [...openCalls].filter((id) => !answeredCalls.has(id));
  return callIds.map((id) => toToolAsk(id, toolNames.get(id) ?? ""));
}

function toAsk(kind: Ask["kind"], interrupt: Interrupt): Ask {
  const { id, message, responseSchema, expiresAt, metadata } = interrupt;
  const value = readValue(metadata);
  const actions = readActions(value);
  const prompt =
    actions === undefined
      ? (message ?? readPrompt(value) ?? readPrompt(responseSchema) ?? "")
      : describeActions(actions);
  const schema = responseSchema ?? createOptionsSchema(value);
  return {
    ...{ kind, id, prompt: truncate(prompt, maxPromptLength) },
    ...(actions ? { decisions: createDecisions(actions) } : isKept(schema) && { schema }),
    ...(expiresAt != null && { expiresAt }),
  };
}

const maxPromptLength = 3000;
/** Half of what a question can store. Without its schema, a question takes a text. */
const maxSchemaBytes = 32 * 1024;

function isKept(schema: unknown): boolean {
  if (schema == null || isNestedTooDeep(schema)) return false;
  return isJsonWithin({ value: schema, maxBytes: maxSchemaBytes });
}

/** The value with which the code of an agent of LangGraph or Mastra asked. */
function readValue(metadata: unknown): unknown {
  const { raw, langgraph, mastra } = Object(metadata) as {
    raw?: unknown;
    langgraph?: { raw?: unknown } | null;
    mastra?: { suspendPayload?: unknown } | null;
  };
  return raw ?? langgraph?.raw ?? mastra?.suspendPayload;
}

/** Code that asks with a list of texts takes one of them as the answer. */
function createOptionsSchema(value: unknown): object | undefined {
  const { options } = Object(value) as { options?: unknown };
  const isList =
    Array.isArray(options) &&
    options.length > 0 &&
    new Set(options).size === options.length &&
    options.every((option) => typeof option === "string" && isVisible(option));
  return isList ? { enum: options } : undefined;
}

const promptNames = ["message", "question", "prompt", "query", "text", "description", "title"];

function readPrompt(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!isJsonObject(value)) return undefined;
  const texts = promptNames.map((name) => value[name]);
  const prompt = texts.find((text) => typeof text === "string" && text.trim() !== "");
  return typeof prompt === "string" ? prompt : undefined;
}

/** LangChain's middleware for approvals asks with a list of tool calls, and takes a decision for each. Python and TypeScript name it differently. */
function readActions(value: unknown): readonly unknown[] | undefined {
  const { action_requests: pythonActions, actionRequests: actions = pythonActions } = Object(
    value,
  ) as { action_requests?: unknown; actionRequests?: unknown };
  const isUsable = Array.isArray(actions) && actions.length > 0 && actions.length < 100;
  return isUsable ? actions : undefined;
}

function describeActions(actions: readonly unknown[]): string {
  return actions
    .map((action) => {
      const { name, description } = Object(action) as { name?: unknown; description?: unknown };
      return [description, name].find((text) => typeof text === "string") ?? "";
    })
    .join("\n\n");
}

function createDecisions(actions: readonly unknown[]): [unknown, unknown] {
  const decideAll = (type: string) => ({ decisions: actions.map(() => ({ type })) });
  return [decideAll("approve"), decideAll("reject")];
}

/** ADK asks by a call of a tool that nobody answers. Its arguments are not shown: they may hold secrets. */
function toToolAsk(id: string, toolName: string): Ask {
  const ask = { kind: "tool" as const, id, prompt: toolName };
  if (toolName !== "adk_request_confirmation") return ask;
  return { ...ask, prompt: "", decisions: [{ confirmed: true }, { confirmed: false }] };
}

const usageNames = {
  inputTokens: "input_tokens",
  outputTokens: "output_tokens",
  totalTokens: "total_tokens",
  cachedInputTokens: "cached_input_tokens",
  cacheWriteInputTokens: "cache_write_input_tokens",
  reasoningTokens: "reasoning_tokens",
} as const;

/** The sums over models and runs. A count that nobody reported is absent. */
function addUsage(
  earlierUsage: Record<string, number> | undefined,
  reports: readonly TokenUsage[],
): Record<string, number> | undefined {
  const sums = new Map(Object.entries(earlierUsage ?? {}));
  for (const report of reports)
    for (const [key, name] of Object.entries(usageNames)) {
      // The keys are those of a report.
      const count = report[key as keyof typeof usageNames];
      if (count != null) sums.set(name, (sums.get(name) ?? 0) + count);
    }
  return sums.size === 0 ? undefined : Object.fromEntries(sums);
}
