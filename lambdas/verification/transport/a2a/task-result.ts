/** Converts an A2A task or message to a result of the zone contract, or to the error that the task ended with. */

import {
  asksForCredentials,
  createApprovalOptions,
  isToolCall,
  isToolRecord,
  listOpenCalls,
} from "@sekisho/contracts/a2a/adk-part.ts";
import { questionKey, taskKey } from "@sekisho/contracts/a2a/extension.ts";
import { readQuestionFields } from "@sekisho/contracts/a2a/fields-part.ts";
import { joinTextParts, type Part } from "@sekisho/contracts/a2a/part.ts";
import type { ReadAnswer, ReadTask } from "@sekisho/contracts/a2a/read-task.ts";
import { fromA2aState } from "@sekisho/contracts/a2a/task.ts";
import { findReasonOfState } from "@sekisho/contracts/dialects.ts";
import { type Reason, reasons, SekishoError } from "@sekisho/contracts/errors.ts";
import { maxPartialTextLength } from "@sekisho/contracts/limits.ts";
import {
  type Artifact,
  inputRequiredResultSchema,
  progressSchema,
  type ResultOf,
  type TaskResult,
  type TaskState,
  transitionError,
} from "@sekisho/contracts/methods.ts";
import { formatJson } from "@sekisho/runtime/shown-json.ts";
import { dropUndefined, truncate } from "@sekisho/runtime/untrusted-input.ts";
import * as z from "zod";
import { takeAnswerRules } from "../take-answer-rules.ts";
import { createQuestionId, readHitlQuestion } from "./hitl.ts";
import { describeCall, maxDescribed } from "./tool-text.ts";

/** The reasons of a failed task, as opposed to those of a failed call. */
const failures = [
  "execution_failed",
  "timeout",
  "budget_exceeded",
  "payload_too_large",
] as const satisfies Reason[];

/** The metadata fields that a Sekisho host adds to a task. Malformed ones are ignored. */
const notesSchema = z
  .object({
    poll_after_ms: z.int().min(0).optional().catch(undefined),
    percent: progressSchema.shape.percent.catch(undefined),
    steps: progressSchema.shape.steps.catch(undefined),
    reason: z.enum(failures).optional().catch(undefined),
    lost: z.literal(true).optional().catch(undefined),
  })
  .catch({});
type Notes = z.output<typeof notesSchema>;
const questionSchema = z
  .object({
    options: inputRequiredResultSchema.shape.options.catch(undefined),
    url: z.unknown(),
    answerers: z.unknown(),
    approvals: z.unknown(),
  })
  .partial()
  .catch({});

/** `retryAfterMs` is the delay from the HTTP response. It counts only if the task names none. */
export function toZoneResult(request: {
  result: ReadAnswer;
  retryAfterMs: number | undefined;
}): TaskResult | SekishoError {
  const { result, retryAfterMs } = request;
  if ("task" in result) return toTaskResult(result.task, retryAfterMs);
  const { parts } = result.message;
  return { status: "success", response_text: readAnswerText(parts), ...readArtifacts([{ parts }]) };
}

function toTaskResult(task: ReadTask, retryAfterMs: number | undefined): TaskResult | SekishoError {
  const { id: task_id, status, artifacts = [] } = task;
  const notes = notesSchema.parse(task.metadata?.[taskKey]);
  const { state, kind } = fromA2aState(status.state);
  switch (state) {
    case "completed": {
      const response_text = joinArtifactTexts(artifacts) || lastText(task);
      return { status: "success", response_text, ...readArtifacts(artifacts) };
    }
    case "input_required":
      return { status: "input_required", task_id, ...readQuestion(task, kind) };
    case "submitted":
    case "working": {
      const text = status.message && joinTextParts(status.message.parts);
      const { percent, steps } = notes;
      const partial_text = readPartialText(artifacts);
      const progress = dropUndefined({
        text: text || undefined,
        percent,
        partial_text: partial_text || undefined,
        steps,
      });
      return {
        status: "accepted",
        task_id,
        ...dropUndefined({ poll_after_ms: notes.poll_after_ms ?? retryAfterMs }),
        ...(Object.keys(progress).length > 0 && { progress }),
      };
    }
    default:
      return createEndedError(task, state, notes);
  }
}

/** The question of a task, which may be in tool calls or other data instead of words. */
function readQuestion(task: ReadTask, stateKind: "auth" | undefined) {
  const { message } = task.status;
  const { parts = [] } = message ?? {};
  const question_id = createQuestionId(message?.messageId);
  const notes = questionSchema.parse(message?.metadata?.[questionKey]);
  const hitlQuestion = readHitlQuestion(message);
  if (hitlQuestion !== undefined)
    return {
      ...hitlQuestion,
      ...dropUndefined({ kind: stateKind, question_id }),
      ...takeAnswerRules({ ...notes, kind: stateKind }),
    };
  const fields = readQuestionFields(parts);
  const calls = listOpenCalls(parts);
  const { options = createApprovalOptions(calls) } = notes;
  const isShown = (part: Part) =>
    part.data !== undefined && (isToolCall(part) || !isToolRecord(part));
  const data = fields === undefined ? parts.filter(isShown) : [];
  // A person must see what they are asked to approve, also where the agent says it in data only.
  const descriptions =
    calls.length > 0
      ? calls.slice(0, maxDescribed).map(describeCall)
      : data.slice(0, maxDescribed).map((part) => formatJson(part.data));
  const prompt =
    [joinTextParts(parts), ...descriptions].filter((text) => text !== "").join("\n\n") ||
    lastText(task);
  const kind = calls.some(asksForCredentials) ? "auth" : stateKind;
  return {
    prompt,
    ...dropUndefined({ options, fields, kind, question_id }),
    ...takeAnswerRules({ ...notes, kind }),
  };
}

/** The error of a task that ended without a result, with what its agent says about it. Only a failed task may name a reason of its own. */
function createEndedError(
  { id: task_id, status }: ReadTask,
  state: TaskState,
  notes: Notes,
): SekishoError {
  const { reason, lost } = state === "failed" ? notes : {};
  const stateReason = findReasonOfState({ state, dialect: "a2a" });
  const statusText = joinTextParts(status.message?.parts ?? []);
  return new SekishoError(reason ?? stateReason ?? "execution_failed", {
    details: { task_id, ...dropUndefined({ lost }) },
    // A Sekisho host says the fixed text of its reason, which the person reads in other words anyway.
    explanation: fixedTexts.has(statusText) ? undefined : statusText,
  });
}

const fixedTexts: ReadonlySet<string> = new Set(
  reasons.map((reason) => new SekishoError(reason).message),
);

/** An agent may fail to cancel (A2A 1.0, section 3.1.5), so only the state says whether the task was canceled. */
export function toCancelResult({ id, status }: ReadTask): ResultOf<"cancel_task"> | SekishoError {
  const { state } = fromA2aState(status.state);
  if (state === "canceled") return { status: "canceled", task_id: id };
  return transitionError({ taskId: id, from: state, to: "canceled" });
}

/** The text of the task's status message, or else the agent's last text. */
function lastText({ status, history }: ReadTask): string {
  const agents = history.filter(({ role }) => role === "ROLE_AGENT").toReversed();
  const texts = [...(status.message ? [status.message] : []), ...agents].map(({ parts }) =>
    joinTextParts(parts),
  );
  return texts.find((text) => text !== "") ?? "";
}

const maxNameLength = 255;

/** Text parts without a file name are the answer itself. */
function readAnswerText(parts: readonly Part[]): string {
  return joinTextParts(parts.filter((part) => !isTextFile(part)));
}

/**
 * The text of an artifact, of a longer one at least `minLength` characters. An agent that streams it appends chunks (`append: true`), which the
 * task then has as parts, so nothing goes between them.
 */
function readArtifactText(parts: readonly Part[], minLength: number): string {
  let artifactText = "";
  for (const part of parts) {
    if (artifactText.length >= minLength) break;
    if (part.text !== undefined && !isTextFile(part)) artifactText += part.text;
  }
  return artifactText;
}

type Texts = readonly { parts: readonly Part[] }[];

/** The texts of the artifacts. Some agents stream an answer, and then repeat all of it in a last artifact, which counts alone. */
function joinArtifactTexts(artifacts: Texts): string {
  const texts = listTexts(artifacts);
  const lastText = texts.at(-1) ?? "";
  const isRepetition = dropSpaces(texts.slice(0, -1).join("")) === dropSpaces(lastText);
  return isRepetition ? lastText : texts.join("\n\n");
}

/** The beginning of an answer that is being written. A last artifact that begins as the answer does may become its repetition. */
function readPartialText(artifacts: Texts): string {
  const texts = listTexts(artifacts, maxPartialTextLength);
  const earlierTexts = texts.slice(0, -1);
  const isRepetition = dropSpaces(earlierTexts.join("")).startsWith(dropSpaces(texts.at(-1) ?? ""));
  const text = (isRepetition ? earlierTexts : texts).join("\n\n");
  return truncate(text, maxPartialTextLength);
}

function listTexts(artifacts: Texts, minLength = Number.POSITIVE_INFINITY): string[] {
  const texts: string[] = [];
  let length = 0;
  for (const { parts } of artifacts) {
    if (length >= minLength) break;
    const text = readArtifactText(parts, minLength);
    if (text !== "") texts.push(text);
    length += text.length;
  }
  return texts;
}

function dropSpaces(text: string): string {
  return text.replaceAll(/\s/g, "");
}

/** Returns the parts that are not the answer's text. Omits `artifacts` if there are none. */
function readArtifacts(sources: readonly { name?: string | undefined; parts: readonly Part[] }[]): {
  artifacts?: Artifact[];
} {
  const artifacts = sources.flatMap(({ name, parts }) =>
    parts.flatMap((part) => toArtifact(name, part)),
  );
  return artifacts.length === 0 ? {} : { artifacts };
}

function toArtifact(artifactName: string | undefined, part: Part): Artifact[] {
  const { filename = artifactName, mediaType: mimetype, text, url, raw: base64, data } = part;
  if ((text !== undefined && !isTextFile(part)) || isToolRecord(part)) return [];
  return [
    dropUndefined({ name: filename?.slice(0, maxNameLength), mimetype, text, url, base64, data }),
  ];
}

function isTextFile({ text, filename }: Part): boolean {
  return text !== undefined && filename !== undefined;
}
