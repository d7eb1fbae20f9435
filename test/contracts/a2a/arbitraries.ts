/** Random values of the shapes of A2A 1.0, valid and with one change, as JSON carries them. */

import type { OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import type { A2aArtifact, Message, Part } from "@sekisho/contracts/a2a/part.ts";
import type { PushConfig } from "@sekisho/contracts/a2a/push.ts";
import {
  type A2aStatus,
  type A2aTask,
  a2aStateSchema,
  type SendResult,
  type StreamEvent,
} from "@sekisho/contracts/a2a/task.ts";
import type { V03OperationName } from "@sekisho/contracts/a2a/v03/params.ts";
import fc from "fast-check";
import type * as z from "zod";

/** Writes a value as JSON and reads it back. */
export function wire(value: unknown): unknown {
  return value === undefined ? undefined : (JSON.parse(JSON.stringify(value)) as unknown);
}

export function issuesOf(
  result: z.ZodSafeParseResult<unknown>,
): { path: string; message: string }[] {
  return result.error?.issues.map(({ path, message }) => ({ path: path.join("."), message })) ?? [];
}

const anyValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    "",
    "x",
    0,
    -1,
    1.5,
    true,
    [],
    {},
    [null],
    { kind: "text" },
    "__proto__",
    undefined,
  ),
  fc.jsonValue({ maxDepth: 1 }),
);

/** The value itself, another value, or the value with one member replaced at any depth. */
export function spoil(right: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.record({ value: right, other: anyValue, at: fc.nat() }).map(({ value, other, at }) => {
    const params = wire(value);
    return wire(replaceAt({ value: params, other, at: at % (sizeOf(params) + 1) }));
  });
}

/** Counts members in their order, the whole first. Past the last one nothing is replaced. */
function replaceAt({ value, other, at }: { value: unknown; other: unknown; at: number }): unknown {
  let stepsToGo = at;
  const visit = (member: unknown): unknown => {
    stepsToGo -= 1;
    if (stepsToGo === -1) return other;
    if (Array.isArray(member)) return member.map(visit);
    if (typeof member !== "object" || member === null) return member;
    return Object.fromEntries(Object.entries(member).map(([name, inner]) => [name, visit(inner)]));
  };
  return visit(value);
}

function sizeOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((size: number, member) => size + sizeOf(member), 1);
}

const id = fc.stringMatching(/^[a-z0-9-]{1,12}$/);
const name = fc.string({ minLength: 1, maxLength: 12 });
const key = fc.stringMatching(/^[a-z]{1,6}$/);
const struct = fc.dictionary(key, json(), { minKeys: 1, maxKeys: 3, noNullPrototype: true });
const uris = fc.array(fc.webUrl(), { minLength: 1, maxLength: 2 });

const timestamp = fc
  .date({ min: new Date(0), max: new Date("2100-01-01"), noInvalidDate: true })
  .map((date) => date.toISOString());

/** Text and data have no media type and no file name, which 0.3 lacks. */
const part: fc.Arbitrary<Part> = fc.oneof(
  withOptional({ text: fc.string() }, { metadata: struct }),
  withOptional({ data: json() }, { metadata: struct }),
  withOptional({ url: fc.webUrl() }, { metadata: struct, mediaType: name, filename: name }),
  withOptional(
    { raw: fc.uint8Array({ maxLength: 9 }).map((bytes) => Buffer.from(bytes).toString("base64")) },
    { metadata: struct, mediaType: name, filename: name },
  ),
);

const parts = fc.array(part, { minLength: 1, maxLength: 3 });

const message: fc.Arbitrary<Message> = withOptional(
  { messageId: id, role: fc.constantFrom("ROLE_USER", "ROLE_AGENT"), parts },
  {
    contextId: id,
    taskId: id,
    metadata: struct,
    extensions: uris,
    referenceTaskIds: fc.array(id, { minLength: 1, maxLength: 2 }),
  },
);

const artifact: fc.Arbitrary<A2aArtifact> = withOptional(
  { artifactId: id, parts },
  { name, description: name, metadata: struct, extensions: uris },
);

const status: fc.Arbitrary<A2aStatus> = withOptional(
  { state: fc.constantFrom(...a2aStateSchema.options) },
  { message, timestamp },
);

export const task: fc.Arbitrary<A2aTask> = withOptional(
  { id, contextId: id, status },
  {
    artifacts: fc.array(artifact, { minLength: 1, maxLength: 2 }),
    history: fc.array(message, { minLength: 1, maxLength: 2 }),
    metadata: struct,
  },
);

export const sendResult: fc.Arbitrary<SendResult> = fc.oneof(
  fc.record({ task }),
  fc.record({ message }),
);

export const streamEvent: fc.Arbitrary<StreamEvent> = fc.oneof(
  sendResult,
  fc.record({
    statusUpdate: withOptional({ taskId: id, contextId: id, status }, { metadata: struct }),
  }),
  fc.record({
    artifactUpdate: withOptional(
      { taskId: id, contextId: id, artifact },
      { append: fc.boolean(), lastChunk: fc.boolean(), metadata: struct },
    ),
  }),
);

const pushTarget: fc.Arbitrary<PushConfig> = withOptional(
  { url: fc.webUrl() },
  {
    id,
    token: name,
    authentication: withOptional(
      { scheme: fc.constantFrom("Bearer", "Basic") },
      { credentials: name },
    ),
  },
);

export const pushConfig = fc
  .record({ taskId: id, target: pushTarget })
  .map(({ taskId, target }) => ({ ...target, taskId }));

const send: fc.Arbitrary<OperationParams<"SendMessage">> = withOptional(
  { message: message.map((params) => ({ ...params, role: "ROLE_USER" as const })) },
  {
    configuration: withOptional(
      { returnImmediately: fc.boolean() },
      {
        acceptedOutputModes: fc.array(name, { minLength: 1, maxLength: 2 }),
        historyLength: fc.nat(),
        taskPushNotificationConfig: pushTarget,
      },
    ),
    metadata: struct,
  },
);

const pushId = fc.record({ taskId: id, id });

/** Without tenants and pages, which 0.3 lacks. */
export const params: { [O in V03OperationName]: fc.Arbitrary<OperationParams<O>> } = {
  SendMessage: send,
  SendStreamingMessage: send,
  GetTask: withOptional({ id }, { historyLength: fc.nat() }),
  CancelTask: withOptional({ id }, { metadata: struct }),
  SubscribeToTask: fc.record({ id }),
  CreateTaskPushNotificationConfig: pushConfig,
  GetTaskPushNotificationConfig: pushId,
  ListTaskPushNotificationConfigs: fc.record({ taskId: id }),
  DeleteTaskPushNotificationConfig: pushId,
  GetExtendedAgentCard: fc.constant({}),
};

/** Any parsed JSON without `__proto__`, which a struct drops. */
function json(): fc.Arbitrary<unknown> {
  return fc
    .json({ maxDepth: 2 })
    .filter((text) => !text.includes("__proto__"))
    .map((text) => JSON.parse(text) as unknown);
}

/** A record whose second half may be missing. */
function withOptional<R extends object, O extends object>(
  requiredMembers: { [K in keyof R]: fc.Arbitrary<R[K]> },
  optional: { [K in keyof O]: fc.Arbitrary<O[K]> },
): fc.Arbitrary<R & Partial<O>> {
  return fc
    .tuple(fc.record(requiredMembers), fc.record(optional, { requiredKeys: [] }))
    .map(([always, sometimes]) => ({ ...always, ...sometimes }) as R & Partial<O>);
}
