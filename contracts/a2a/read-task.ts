/** Reads a task or a message as a client (A2A 1.0, section 4.1): strict about ids, states and text, lenient about everything else. */
import * as z from "zod";
import { maxTaskIdLength } from "../limits.ts";
import { adkKeys, isThought } from "./adk-part.ts";
import { hitlKey, questionKey, taskKey } from "./extension.ts";
import { contentNames, type Part, partSchema, roleSchema, wrappedKey } from "./part.ts";
import { a2aStateSchema } from "./task.ts";
import {
  bytesSchema,
  idSchema,
  maxReadable,
  optionalText,
  optionalValue,
  readableList,
} from "./values.ts";

/** Drops malformed fields that only describe a part. Keeps bytes that are no base64, so that the person reads that a file is left out. */
const readPartSchema = partSchema.safeExtend({
  raw: optionalValue(z.union([bytesSchema, z.string()])),
  mediaType: partSchema.shape.mediaType.catch(undefined),
  filename: partSchema.shape.filename.catch(undefined),
  metadata: readMetadata([wrappedKey, ...adkKeys]),
});

/** Reads only the members of `metadata` with our keys, because a peer may send any number of others. */
function readMetadata(keys: readonly string[]) {
  const shape = Object.fromEntries(keys.map((key) => [key, z.unknown().optional()]));
  const knownFields = z
    .object(shape)
    .transform((fields) => (Object.keys(fields).length === 0 ? undefined : fields));
  return optionalValue(knownFields).catch(undefined);
}

/** The names of 0.3 are those of 1.0 in small letters and without the prefix. Earlier drafts spelled `CANCELLED`. */
function toEnumName(prefix: string): (name: unknown) => unknown {
  return (name) => {
    if (typeof name !== "string") return name;
    const upper = name
      .toUpperCase()
      .replaceAll("-", "_")
      .replace(/CANCELLED$/, "CANCELED");
    return upper.startsWith(prefix) ? upper : `${prefix}${upper}`;
  };
}

const stateSchema = z.preprocess(toEnumName("TASK_STATE_"), a2aStateSchema);
const roleOfAnySchema = z.preprocess(toEnumName("ROLE_"), roleSchema);

/**
 * Skips a part that is not readable, unless it is a text: an answer that lacks one of its texts would mislead. Also skips a thought, which is
 * for nobody but the agent.
 */
const entry = z.unknown().transform((value, context): Part[] => {
  const part = withoutUnsetContents(toCurrentPart(value));
  const { data } = readPartSchema.safeParse(part);
  if (data !== undefined) return isThought(data) ? [] : [data];
  if ((Object(part).text ?? undefined) !== undefined) {
    context.issues.push({
      code: "custom",
      path: ["text"],
      message: "a text that cannot be read",
      input: value,
    });
  }
  return [];
});
const parts = optionalValue(z.array(entry)).transform((entryParts = []) => entryParts.flat());
const message = z.object({
  messageId: idSchema.optional().catch(undefined),
  role: roleOfAnySchema.optional().catch(undefined),
  parts,
  metadata: readMetadata([questionKey, hitlKey]),
  extensions: optionalValue(readableList(z.string())).catch(undefined),
});
export const readStatusSchema = z.object({
  state: stateSchema,
  message: optionalValue(message).catch(undefined),
});
export const readArtifactSchema = z.object({
  artifactId: idSchema.optional().catch(undefined),
  name: optionalText(1024).catch(undefined),
  parts,
});
export const readTaskMetadata = readMetadata([taskKey]);
const task = z.object({
  id: idSchema,
  contextId: optionalText(256).catch(undefined),
  status: readStatusSchema,
  artifacts: optionalValue(z.array(readArtifactSchema)),
  history: readableList(message).catch([]),
  metadata: readTaskMetadata,
});
export type ReadTask = z.output<typeof task>;

/** A message that is the answer itself must have a part that can be read. */
const answer = message.extend({
  taskId: optionalText(maxTaskIdLength),
  parts: parts.refine((parts) => parts.length > 0, "no part that can be read"),
});

/**
 * Writes a part as one of 1.0. 0.3 has files in a member of their own, marks values that are no objects, and names the kind, which the content
 * shows anyway. Some SDKs wrap the part.
 */
function toCurrentPart(value: unknown): unknown {
  if (!isObject(value)) return value;
  const members =
    isObject(value.root) && !contentNames.some((name) => name in value) ? value.root : value;
  const { kind, file, text, data, metadata } = members;
  if (isObject(file)) {
    const {
      bytes: raw = file.fileWithBytes,
      uri: url = file.fileWithUri,
      mimeType: mediaType,
      name: filename,
    } = file;
    return { text, data, raw, url, mediaType, filename, metadata };
  }
  const isWrapped = kind === "data" && isObject(metadata) && metadata[wrappedKey] === true;
  if (!isWrapped || !isObject(data) || !Object.hasOwn(data, "value")) return members;
  const { [wrappedKey]: _, ...metadataFields } = metadata;
  return { data: data.value, metadata: metadataFields };
}

type Members = Record<string, unknown>;

function isObject(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An agent may send its text word by word, each as a part. The schema would take seconds for half a million. */
const maxEntries = 10_000;

/** True if an answer of any version has too many artifacts and parts to be read. */
export function hasTooManyEntries(answer: unknown): boolean {
  const task = memberOf(answer, "task") ?? answer;
  const artifacts = listOf(task, "artifacts");
  if (artifacts.length > maxEntries) return true;
  const messages = [
    memberOf(answer, "message"),
    memberOf(memberOf(task, "status"), "message"),
    ...listOf(task, "history").slice(-maxReadable),
  ];
  const holders = [...messages, task, ...artifacts];
  const parts = holders.reduce(
    (total: number, holder) => total + listOf(holder, "parts").length,
    0,
  );
  return artifacts.length + parts > maxEntries;
}

function memberOf(value: unknown, name: string): unknown {
  return Object(value)[name];
}

function listOf(value: unknown, name: string): readonly unknown[] {
  const list = memberOf(value, name);
  return Array.isArray(list) ? list : [];
}

/** Serializers of some languages write an unset content as `null` or `""`. Drops those, unless there is no other content. */
function withoutUnsetContents(part: unknown): unknown {
  const members: Record<string, unknown> = Object(part);
  const isUnset = (name: string) => members[name] === null || members[name] === "";
  const contents = contentNames.filter((name) => name in members);
  const content = contents.find((name) => !isUnset(name)) ?? contents[0];
  const unsetContents: readonly string[] = contents.filter(
    (name) => name !== content && isUnset(name),
  );
  if (unsetContents.length === 0) return part;
  return Object.fromEntries(
    Object.entries(members).filter(([name]) => !unsetContents.includes(name)),
  );
}

/** An update of a task that is under way. A poll finds out more. */
const update = z.object({ taskId: idSchema }).transform(({ taskId: id }): { task: ReadTask } => {
  return { task: { id, status: { state: "TASK_STATE_WORKING" }, history: [] } };
});

export type ReadAnswer = { task: ReadTask } | { message: z.output<typeof answer> };

/** One of several shapes: the member that holds it in 1.0, its `kind` in 0.3, and how it is read. */
export type ReadShape<T> = { member: string; kind: string; schema: z.ZodType<T> };

export const taskShape: ReadShape<{ task: ReadTask }> = {
  member: "task",
  kind: "task",
  schema: task.transform((value) => ({ task: value })),
};

/** The answers that a message may get. */
const answerShapes: readonly ReadShape<ReadAnswer>[] = [
  taskShape,
  { member: "message", kind: "message", schema: answer.transform((value) => ({ message: value })) },
  { member: "statusUpdate", kind: "status-update", schema: update },
  { member: "artifactUpdate", kind: "artifact-update", schema: update },
];

/** Tells the kind of an object that does not name it, by members that only this kind has: a task has an id, a message has parts. */
function guessKind(result: Members): string | undefined {
  if ("id" in result && "status" in result) return "task";
  if ("taskId" in result && "status" in result) return "status-update";
  if ("taskId" in result && "artifact" in result) return "artifact-update";
  return "parts" in result ? "message" : undefined;
}

/**
 * Reads one of the shapes. Agents mix the forms of the versions: 1.0 has the object in a member, 0.3 has it bare, with its `kind`. `expected` is for
 * the error.
 */
export function readOneOf<T>(request: { shapes: readonly ReadShape<T>[]; expected: string }) {
  const { shapes, expected } = request;
  return z.unknown().transform((result, context): T => {
    const members: Members = isObject(result) ? result : {};
    const shapeOfMember = shapes.find(
      ({ kind, member }) => members.kind !== kind && isObject(members[member]),
    );
    const bareKind = typeof members.kind === "string" ? members.kind : guessKind(members);
    const shape = shapeOfMember ?? shapes.find(({ kind }) => kind === bareKind);
    if (shape === undefined) {
      context.issues.push({ code: "custom", message: expected, input: result });
      return z.NEVER;
    }
    const path = shapeOfMember === undefined ? [] : [shapeOfMember.member];
    const value = shapeOfMember === undefined ? members : members[shapeOfMember.member];
    return readAt({ schema: shape.schema, value, path, context });
  });
}

/** The answer to a message: a task, or another message. An agent that answers by a stream may begin with an update of the task. */
export const readAnswerSchema = readOneOf({
  shapes: answerShapes,
  expected: "neither a task nor a message",
});

/** A task, also in the member that holds it in the answer to a message. */
export const readTaskSchema = z.unknown().transform((result, context): ReadTask => {
  const wrappedTask =
    isObject(result) && !("status" in result) && isObject(result.task) ? result.task : undefined;
  return readAt({
    schema: task,
    value: wrappedTask ?? result,
    path: wrappedTask === undefined ? [] : ["task"],
    context,
  });
});

/** True if the result says that the task is completed, whatever else is wrong with it. */
export function isCompleted(result: unknown): boolean {
  const status = memberOf(memberOf(result, "task") ?? result, "status");
  return stateSchema.safeParse(memberOf(status, "state")).data === "TASK_STATE_COMPLETED";
}

function readAt<T>(reading: {
  schema: z.ZodType<T>;
  value: unknown;
  path: string[];
  context: z.core.$RefinementCtx;
}): T {
  const { schema, value, path, context } = reading;
  const { data, error, success } = schema.safeParse(value);
  if (success) return data;
  for (const { message, path: below } of error.issues) {
    context.issues.push({ code: "custom", message, path: [...path, ...below], input: value });
  }
  return z.NEVER;
}
