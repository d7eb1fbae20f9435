/** Reads the events of InvokeHarness: the text of the answer, the tools that the harness uses, and how it ends. */
import { isJsonObject, parseJson } from "@sekisho/runtime/untrusted-input.ts";
import type { Message } from "@smithy/core/event-streams";
import { createBedrockReader } from "../converse-events.ts";
import { createUnreadable, readMember } from "../http-answer.ts";
import { createEventError } from "../remote-call.ts";

/** A call of a function that the caller must answer. `input` is JSON, in pieces. */
export type OpenCall = { toolUseId: string; name: string; input: string };

export type Usage = Readonly<Record<string, number>>;

type HarnessEvent = { name: string; content: Readonly<Record<string, unknown>> };

const eventNames: readonly unknown[] = [
  ...["messageStart", "contentBlockStart", "contentBlockDelta", "messageStop", "metadata"],
];
const exceptionNames: readonly unknown[] = [
  ...["internalServerException", "validationException", "runtimeClientError"],
];
/** A question is stored, and a file that a tool writes is no question. */
const maxInputLength = 64 * 1024;
const maxCalls = 100;

/** Undefined for an event that says nothing of the answer. Throws a RemoteError for an exception, which comes after a status of 200. */
export function parseEvent({ headers, body }: Message): HarnessEvent | undefined {
  const type = headers[":message-type"]?.value;
  const name = headers[":event-type"]?.value;
  const exception = type === "event" ? name : headers[":exception-type"]?.value;
  if (exceptionNames.includes(exception)) throw createUnreadable(`exception ${exception}`);
  if (type === "exception" || type === "error") throw createUnreadable("an unknown exception");
  if (type !== "event") throw createEventError(":message-type: unknown");
  if (typeof name !== "string" || !eventNames.includes(name)) return undefined;
  const content = parseJson(body);
  if (!isJsonObject(content)) throw createEventError(`${name}: no JSON object`);
  return { name, content };
}

export function createHarnessReader() {
  const bedrock = createBedrockReader();
  /** Those of the latest message of the model by their ids. The numbers of their blocks may repeat. */
  const calls = new Map<string, OpenCall>();
  const callByBlock = new Map<unknown, OpenCall>();
  let isOpen = false;
  let isModel = true;
  let usage: Usage | undefined;

  function startMessage({ role }: HarnessEvent["content"]): void {
    isModel = role !== "user";
    // The harness itself has answered the earlier ones.
    if (isModel) calls.clear();
    callByBlock.clear();
  }

  function startBlock({ start, contentBlockIndex }: HarnessEvent["content"]): string | undefined {
    const result = readMember(start, "toolResult");
    calls.delete(String(readMember(result, "toolUseId")));
    callByBlock.delete(contentBlockIndex);
    const use = readMember(start, "toolUse");
    if (use === undefined) return undefined;
    const toolUseId = readMember(use, "toolUseId");
    const name = readMember(use, "name");
    if (typeof toolUseId !== "string" || typeof name !== "string")
      throw createEventError("contentBlockStart.start.toolUse: wrong type");
    const call = calls.get(toolUseId) ?? { toolUseId, name, input: "" };
    callByBlock.set(contentBlockIndex, call);
    // The harness itself makes calls of the other types.
    if ((readMember(use, "type") ?? "tool_use") === "tool_use") calls.set(toolUseId, call);
    if (calls.size > maxCalls || callByBlock.size > maxCalls)
      throw createEventError("contentBlockStart: too many");
    return name;
  }

  function addDelta({ delta, contentBlockIndex }: HarnessEvent["content"]): void {
    if (typeof (readMember(delta, "text") ?? "") !== "string")
      throw createEventError("contentBlockDelta.delta.text: wrong type");
    const input = readMember(readMember(delta, "toolUse"), "input") ?? "";
    if (typeof input !== "string")
      throw createEventError("contentBlockDelta.delta.toolUse.input: wrong type");
    const call = callByBlock.get(contentBlockIndex);
    if (call !== undefined && call.input.length <= maxInputLength) call.input += input;
  }

  return {
    /** Returns the next piece of the answer, and the name of a tool that the harness begins to use. */
    read(event: HarnessEvent): { text: string; toolName?: string | undefined } {
      const { name, content } = event;
      if (name === "metadata") {
        usage = addUsage(usage, readUsage(content));
        return { text: "" };
      }
      if (name === "messageStart" || (!isOpen && name !== "messageStop")) startMessage(content);
      isOpen = name !== "messageStop";
      const toolName = name === "contentBlockStart" ? startBlock(content) : undefined;
      if (name === "contentBlockDelta") addDelta(content);
      if (name === "messageStop" && typeof content.stopReason !== "string")
        throw createEventError("messageStop.stopReason: wrong type");
      const isForeign = !isModel && name === "contentBlockDelta";
      const text = isForeign ? "" : bedrock.read({ [name]: content })?.text;
      return { text: text ?? "", toolName };
    },
    /** `openCalls` are those that the harness waits for. Throws a RemoteError if the stream ended before the answer did. */
    end(): { stopReason: string; openCalls: readonly OpenCall[]; usage: Usage | undefined } {
      const stopReason = bedrock.stopReason();
      const openCalls = stopReason === "tool_use" ? [...calls.values()] : [];
      const isCut = isOpen || (bedrock.isOpen() && openCalls.length === 0);
      if (stopReason === undefined || isCut)
        throw createEventError("the stream ends before the last messageStop");
      return { stopReason, openCalls, usage };
    },
  };
}

const counts = [
  ...["inputTokens", "outputTokens", "totalTokens"],
  ...["cacheReadInputTokens", "cacheWriteInputTokens"],
];

function readUsage(content: HarnessEvent["content"]): Usage {
  const entries = counts.flatMap((name) => {
    const count = readMember(content.usage, name);
    return typeof count === "number" && Number.isFinite(count) ? [[name, count] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** Each call of the model, and each run, counts for itself. */
export function addUsage(sum: Usage | undefined, usage: Usage): Usage {
  const names = counts.filter((name) => name in usage || (sum !== undefined && name in sum));
  return Object.fromEntries(names.map((name) => [name, (sum?.[name] ?? 0) + (usage[name] ?? 0)]));
}
