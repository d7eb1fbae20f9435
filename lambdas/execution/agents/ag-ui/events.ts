/** Reads the events of AG-UI 1.0. Only the members that are used are looked at. */
import * as z from "zod/mini";
import { createEventError } from "../remote-call.ts";

const anything = z.optional(z.unknown());
const optionalText = z.optional(z.string());
/** Python servers write members that are not set as null. */
const nullableText = z.nullish(z.string());
/** Undefined for what the main agent does. */
const owner = { subagentRunId: optionalText };
const count = z.nullish(z.number());

const interruptSchema = z.object({
  id: z.string(),
  message: nullableText,
  responseSchema: anything,
  expiresAt: nullableText,
  metadata: anything,
});
export type Interrupt = z.infer<typeof interruptSchema>;

const usageSchema = z.object({
  inputTokens: count,
  outputTokens: count,
  totalTokens: count,
  cachedInputTokens: count,
  cacheWriteInputTokens: count,
  reasoningTokens: count,
});
export type TokenUsage = z.infer<typeof usageSchema>;

const messageSchema = z.looseObject({
  id: z.string(),
  role: z.string(),
  content: anything,
  toolCallId: nullableText,
  subagentRunId: nullableText,
});

const messageId = z.string();
const toolCallId = z.string();
const schemas = {
  RUN_STARTED: z.object({ runId: z.string() }),
  RUN_FINISHED: z.object({
    result: anything,
    outcome: z.optional(
      z.object({
        type: z.string(),
        interrupts: z.nullish(z.array(interruptSchema)),
        pendingToolCallIds: z.nullish(z.array(z.string())),
      }),
    ),
    usage: z.optional(z.array(usageSchema)),
  }),
  // A failure without a readable text is a failure all the same.
  RUN_ERROR: z.object({ message: anything }),
  STEP_STARTED: z.object({ ...owner, stepName: z.string() }),
  STEP_FINISHED: z.object({ ...owner, stepName: z.string() }),
  SUBAGENT_STARTED: z.object({ subagentRunId: z.string(), name: z.string() }),
  SUBAGENT_FINISHED: z.object({ subagentRunId: z.string() }),
  SUBAGENT_ERROR: z.object({ subagentRunId: z.string() }),
  TEXT_MESSAGE_START: z.object({ ...owner, messageId, role: optionalText }),
  TEXT_MESSAGE_CONTENT: z.object({ ...owner, messageId, delta: z.string() }),
  TEXT_MESSAGE_END: z.object({ ...owner, messageId }),
  TEXT_MESSAGE_CHUNK: z.object({
    ...owner,
    messageId: optionalText,
    role: optionalText,
    delta: optionalText,
  }),
  TOOL_CALL_START: z.object({
    ...owner,
    toolCallId,
    toolCallName: z.string(),
    parentMessageId: optionalText,
  }),
  TOOL_CALL_ARGS: z.object({ ...owner, toolCallId, delta: z.string() }),
  TOOL_CALL_END: z.object({ ...owner, toolCallId }),
  TOOL_CALL_CHUNK: z.object({
    ...owner,
    toolCallId: optionalText,
    toolCallName: optionalText,
    parentMessageId: optionalText,
    delta: optionalText,
  }),
  TOOL_CALL_RESULT: z.object({
    ...owner,
    messageId,
    toolCallId,
    content: z.union([z.string(), z.array(z.unknown())]),
  }),
  STATE_SNAPSHOT: z.object({ snapshot: anything }),
  STATE_DELTA: z.object({ delta: z.array(z.unknown()) }),
  MESSAGES_SNAPSHOT: z.object({ messages: z.array(messageSchema) }),
  CUSTOM: z.object({ name: z.string(), value: anything, rawEvent: anything }),
};

type EventType = keyof typeof schemas;
export type AgUiEvent = {
  [T in EventType]: { type: T } & z.infer<(typeof schemas)[T]>;
}[EventType];

export type EventOf<T extends EventType> = Extract<AgUiEvent, { type: T }>;

/** Most bytes of a stream of LangGraph are events of this type, which nobody needs to parse. */
const rawStart = /^\s*\{\s*"type"\s*:\s*"RAW"/;

/** Returns undefined for an event of an unknown type. Throws a RemoteError that names the event and the member. */
export function parseEvent(data: string): AgUiEvent | undefined {
  if (rawStart.test(data)) return undefined;
  const event = parseObject(data);
  const { type } = event;
  if (typeof type !== "string") throw createEventError("an event: type");
  if (!Object.hasOwn(schemas, type)) return undefined;
  // The type is a key of the table, as was just checked.
  const schema = schemas[type as EventType];
  const { data: members, error } = schema.safeParse(event);
  if (error !== undefined)
    throw createEventError(`${[type, ...(error.issues[0]?.path ?? [])].join(".")}: wrong type`);
  // The schema is the one of this type.
  return { type, ...members } as AgUiEvent;
}

/** A member that is null counts as absent, because older servers write it so. */
function parseObject(data: string): Record<string, unknown> {
  try {
    const event: unknown = JSON.parse(data);
    if (typeof event === "object" && event !== null && !Array.isArray(event))
      return Object.fromEntries(Object.entries(event).filter(([, member]) => member !== null));
  } catch {
    // Fails below.
  }
  throw createEventError("an event: no JSON object");
}
