/** Reads a task or a message as a client (A2A 1.0, section 4.1): strict about ids, states and text, lenient about everything else. */
import * as z from "zod";
import { maxTaskIdLength } from "../limits.ts";
import { adkKeys, isThought } from "./adk-part.ts";
import { questionKey, taskKey } from "./extension.ts";
import { contentNames, type Message, type Part, partSchema, roleSchema, wrappedKey } from "./part.ts";
import { type A2aState, a2aStateSchema } from "./task.ts";
import { bytesSchema, idSchema, maxReadable, optionalText, optionalValue, readableList } from "./values.ts";

/** Drops malformed fields that only describe a part. Keeps bytes that are no base64, so that the person reads that a file is left out. */
export const readPartSchema = partSchema.safeExtend({
  raw: optionalValue(z.union([bytesSchema, z.string()])),
  mediaType: partSchema.shape.mediaType.catch(undefined),
  filename: partSchema.shape.filename.catch(undefined),
  metadata: readMetadata([wrappedKey, ...adkKeys]),
});

/** Reads only the members of `metadata` with our keys, because a peer may send any number of others. */
function readMetadata(keys: readonly string[]) {
  const shape = Object.fromEntries(keys.map((key) => [key, z.unknown().optional()]));
  const known = z.object(shape).transform((read) => (Object.keys(read).length === 0 ? undefined : read));
  return optionalValue(known).catch(undefined);
}

/** `part`, `state` and `role` read one version's spelling. The result is the same for all versions. */
export function createReadSchemas(options: {
  part: z.ZodType<Part>;
  state: z.ZodType<A2aState>;
  role: z.ZodType<Message["role"]>;
}) {
  const { part, state, role } = options;
  // A thought is for nobody but the agent.
  const entry = z.union([part.transform((read) => (isThought(read) ? [] : [read])), passedOver]);
  const parts = optionalValue(z.array(entry)).transform((read = []) => read.flat());
  const message = z.object({
    messageId: idSchema.optional().catch(undefined),
    role: role.optional().catch(undefined),
    parts,
    metadata: readMetadata([questionKey]),
  });
  const task = z.object({
    id: idSchema,
    status: z.object({ state, message: optionalValue(message).catch(undefined) }),
    artifacts: optionalValue(z.array(z.object({ name: optionalText(1024).catch(undefined), parts }))),
    history: readableList(message).catch([]),
    metadata: readMetadata([taskKey]),
  });
  /** A message that is the answer itself must have a part that can be read. */
  const answer = message.extend({
    taskId: optionalText(maxTaskIdLength),
    parts: parts.refine((read) => read.length > 0, "no part that can be read"),
  });
  return { task, answer };
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
  const parts = holders.reduce((total: number, holder) => total + listOf(holder, "parts").length, 0);
  return artifacts.length + parts > maxEntries;
}

function memberOf(value: unknown, name: string): unknown {
  return Object(value)[name];
}

function listOf(value: unknown, name: string): readonly unknown[] {
  const list = memberOf(value, name);
  return Array.isArray(list) ? list : [];
}

/** Skips a part that is not readable, unless it is a text: an answer that lacks one of its texts would mislead. */
const passedOver = z
  .unknown()
  .refine((part) => (Object(part).text ?? undefined) === undefined, "a text that cannot be read")
  .transform((): Part[] => []);

/** Serializers of some languages write an unset content as `null` or `""`. Drops those, unless there is no other content. */
function withoutUnsetContents(part: unknown): unknown {
  const members: Record<string, unknown> = Object(part);
  const isUnset = (name: string) => members[name] === null || members[name] === "";
  const given = contentNames.filter((name) => name in members);
  const kept = given.find((name) => !isUnset(name)) ?? given[0];
  const dropped: readonly string[] = given.filter((name) => name !== kept && isUnset(name));
  if (dropped.length === 0) return part;
  return Object.fromEntries(Object.entries(members).filter(([name]) => !dropped.includes(name)));
}

const readablePart = z.preprocess(withoutUnsetContents, readPartSchema);
const { task, answer } = createReadSchemas({ part: readablePart, state: a2aStateSchema, role: roleSchema });

export const readTaskSchema = task;
export type ReadTask = z.output<typeof readTaskSchema>;

/** An update of a task that is under way, in any version. A poll finds out more. */
export const updateSchema = z.object({ taskId: idSchema });

export function toTaskUnderWay({ taskId: id }: z.output<typeof updateSchema>): { task: ReadTask } {
  return { task: { id, status: { state: "TASK_STATE_WORKING" }, history: [] } };
}

/** The answer to a message: a task, or another message. An agent that answers by a stream may begin with an update of the task. */
export const readAnswerSchema = z.union([
  z.object({ task }),
  z.object({ message: answer }),
  z.object({ statusUpdate: updateSchema }).transform(({ statusUpdate }) => toTaskUnderWay(statusUpdate)),
  z.object({ artifactUpdate: updateSchema }).transform(({ artifactUpdate }) => toTaskUnderWay(artifactUpdate)),
]);
export type ReadAnswer = z.output<typeof readAnswerSchema>;
