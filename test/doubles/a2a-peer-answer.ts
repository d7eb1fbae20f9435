/** Translates responses of the zone contract to A2A. */
import { taskKey } from "@sekisho/contracts/a2a/extension.ts";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import type { A2aState, A2aTask } from "@sekisho/contracts/a2a/task.ts";
import { resultToV03 } from "@sekisho/contracts/a2a/v03/results.ts";
import { errorObjectSchema } from "@sekisho/contracts/envelope.ts";
import { decodeError, encodeError } from "@sekisho/contracts/error-data.ts";
import type { ClientReason } from "@sekisho/contracts/errors.ts";

export type AnsweredOperation = "SendMessage" | "GetTask" | "CancelTask";

/** Pads to the chunk's length, so that a body's size stays what the script intended. */
export function a2aAnswer({
  chunk,
  operation,
  version,
}: {
  chunk: Uint8Array;
  operation: AnsweredOperation;
  version: A2aVersion;
}): Uint8Array {
  const envelope = parse(chunk);
  if (envelope === undefined || ("result" in envelope && "error" in envelope)) return chunk;
  const inA2a = "error" in envelope ? inError(envelope, version) : inResult(envelope);
  if (inA2a === undefined) return chunk;
  const { task, ...rest } = inA2a;
  const answered =
    task === undefined ? rest : { ...rest, result: resultOf({ task, operation, version }) };
  const said = Buffer.from(JSON.stringify(answered));
  return Buffer.concat([said, Buffer.alloc(Math.max(0, chunk.byteLength - said.byteLength), " ")]);
}

type Envelope = Record<string, unknown>;
type Said = Envelope & { task?: A2aTask };

const statesOfErrors: Partial<Record<ClientReason, A2aState>> = {
  execution_failed: "TASK_STATE_FAILED",
  plan_error: "TASK_STATE_REJECTED",
  canceled: "TASK_STATE_CANCELED",
};

function inError(envelope: Envelope, version: A2aVersion): Said | undefined {
  const { data: object } = errorObjectSchema.safeParse(envelope.error);
  if (object === undefined || object.data === undefined) return undefined;
  const error = decodeError({ error: object, dialect: "zone" });
  const { error: _, ...rest } = envelope;
  const state = statesOfErrors[error.reason];
  if (state !== undefined) return { ...rest, task: taskIn({ state, notes: { ...error.details } }) };
  return { ...rest, error: encodeError({ error, dialect: version === "1.0" ? "a2a" : "a2a-0.3" }) };
}

function inResult(envelope: Envelope): Said | undefined {
  const { status, response_text, task_id, poll_after_ms, progress } = Object(envelope.result);
  const id = String(task_id ?? "task-1");
  switch (status) {
    case "success":
      return response_text === undefined
        ? undefined
        : { ...envelope, task: taskIn({ id, state: "TASK_STATE_COMPLETED", text: response_text }) };
    case "accepted":
      return {
        ...envelope,
        task: taskIn({
          id,
          state: "TASK_STATE_WORKING",
          says: progress?.text,
          notes: { poll_after_ms },
        }),
      };
    case "canceled":
      return { ...envelope, task: taskIn({ id, state: "TASK_STATE_CANCELED" }) };
    case "error":
      return { ...envelope, task: taskIn({ id, state: "TASK_STATE_FAILED" }) };
    default:
      return undefined;
  }
}

function taskIn({
  id = "task-1",
  state,
  text,
  says,
  notes,
}: {
  id?: string;
  state: A2aState;
  text?: string;
  says?: string;
  notes?: Record<string, unknown>;
}): A2aTask {
  return {
    id,
    contextId: "context-1",
    status: {
      // Before the state, as some agents do.
      ...(says !== undefined && {
        message: { messageId: "m1", role: "ROLE_AGENT", parts: [{ text: says }] },
      }),
      state,
    },
    ...(text !== undefined && { artifacts: [{ artifactId: "answer", parts: [{ text }] }] }),
    ...(notes !== undefined && { metadata: { [taskKey]: notes } }),
  };
}

function resultOf({
  task,
  operation,
  version,
}: {
  task: A2aTask;
  operation: AnsweredOperation;
  version: A2aVersion;
}): unknown {
  if (operation === "SendMessage") {
    return version === "1.0" ? { task } : resultToV03({ operation, result: { task } });
  }
  return version === "1.0" ? task : resultToV03({ operation, result: task });
}

function parse(chunk: Uint8Array): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(chunk));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? { ...value }
      : undefined;
  } catch {
    return undefined;
  }
}
