/** Reads an A2A message as a new task or as an answer to the agent's question. */

import { questionKey, slackMessageKey, taskKey } from "@sekisho/contracts/a2a/extension.ts";
import { readFieldValues } from "@sekisho/contracts/a2a/fields-part.ts";
import { joinTextParts, type Message, type Part } from "@sekisho/contracts/a2a/part.ts";
import { approvedBySchema } from "@sekisho/contracts/answer-rules.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { hasMoreCharacters, maxTextLength } from "@sekisho/contracts/limits.ts";
import {
  attachmentSchema,
  executeTaskParamsSchema,
  optionIdSchema,
  sessionIdSchema,
} from "@sekisho/contracts/methods.ts";
import { type FieldValues, fieldValuesSchema } from "@sekisho/contracts/question-fields.ts";
import { dropUndefined } from "@sekisho/runtime/untrusted-input.ts";
import * as z from "zod";
import { createParamsError } from "../params-error.ts";
import {
  digest,
  type OpenQuestion,
  type PersonAnswer,
  type TaskInput,
} from "../tasks/execution-task.ts";

const maxAttachments = 20;

/** The Slack message behind an A2A message. Values that do not fit the contract are ignored. */
const { channel, thread_ts, team_id, user_id, correlation_id, history, context, timeout_ms } =
  executeTaskParamsSchema.shape;
const slackNotesSchema = z
  .object({
    channel: channel.optional().catch(undefined),
    thread_ts: thread_ts.catch(undefined),
    team_id: team_id.catch(undefined),
    user_id: user_id.catch(undefined),
    correlation_id: correlation_id.catch(undefined),
    history: history.catch(undefined),
    context: context.catch(undefined),
  })
  .catch({});
const taskNotesSchema = z.object({ timeout_ms: timeout_ms.catch(undefined) }).catch({});
const choiceSchema = z
  .object({ option_id: optionIdSchema.optional(), approved_by: approvedBySchema.optional() })
  .catch({});

/** Identifies the content, which a repetition must share. The metadata are left out, because they may change. */
export function fingerprintMessage({ role, parts, contextId, taskId }: Message): string {
  return digest([role, parts, contextId ?? null, taskId ?? null]);
}

/** Throws `invalid_params` if the text is too long for a task. */
export function readTaskInput({
  message,
  contextId,
}: {
  message: Message;
  contextId: string;
}): TaskInput {
  const { parts, metadata } = message;
  const attachments = readAttachments(parts);
  return {
    ...(metadata && dropUndefined(slackNotesSchema.parse(metadata[slackMessageKey]))),
    ...(metadata && dropUndefined(taskNotesSchema.parse(metadata[taskKey]))),
    text: limitedText(parts),
    ...(attachments.length > 0 && { attachments }),
    ...(sessionIdSchema.safeParse(contextId).success && { session_id: contextId }),
    ...listOtherParts(parts),
  };
}

/**
 * Finds the chosen option by its id in the metadata, or by a text equal to its label or id, and the values of a form in a data part.
 * Throws as `readTaskInput` does.
 */
export function readAnswerMessage(request: {
  message: Message;
  question: OpenQuestion | undefined;
}): Omit<PersonAnswer, "prompt"> {
  const { message, question } = request;
  const { messageId, parts, metadata } = message;
  const text = limitedText(parts);
  const { user_id } = slackNotesSchema.parse(metadata?.[slackMessageKey]);
  const { option_id: namedOption, approved_by } = choiceSchema.parse(metadata?.[questionKey]);
  const answerText = text.trim();
  const option_id =
    namedOption ??
    question?.options?.find(({ id, label }) => id === answerText || label === answerText)?.id;
  const fields = question?.fields === undefined ? undefined : readValues(parts);
  const choice = dropUndefined({ option_id, user_id, approved_by, fields });
  return {
    id: messageId,
    fingerprint: fingerprintMessage(message),
    text,
    ...choice,
    ...listOtherParts(parts),
  };
}

function readValues(parts: readonly Part[]): FieldValues | undefined {
  const fieldValues = readFieldValues(parts);
  if (fieldValues === undefined) return undefined;
  const { data, error } = fieldValuesSchema.safeParse(fieldValues);
  if (data !== undefined) return data;
  throw createParamsError(
    error.issues.map((issue) => ({
      ...issue,
      path: ["message", "parts", "fields", ...issue.path],
    })),
  );
}

function limitedText(parts: readonly Part[]): string {
  const text = joinTextParts(parts);
  if (!hasMoreCharacters(text, maxTextLength)) return text;
  throw createParamsError([
    { path: ["message", "parts"], message: `more than ${maxTextLength} characters of text` },
  ]);
}

/** Adds files with a URL as attachments, for agents that know only those of Slack messages. */
function readAttachments(parts: readonly Part[]): NonNullable<TaskInput["attachments"]> {
  return parts
    .flatMap(
      ({ url, filename: name = "", mediaType: mimetype = "application/octet-stream" }, index) => {
        if (url === undefined) return [];
        const attachment = { id: `part-${index + 1}`, name, mimetype, size: 0, url };
        return attachmentSchema.safeParse(attachment).data ?? [];
      },
    )
    .slice(0, maxAttachments);
}

/** Leaves out the parts of a plain text, which say nothing more than the text. */
function listOtherParts(parts: Part[]): { parts?: Part[] } {
  const [only, ...otherParts] = parts;
  const isPlain =
    otherParts.length === 0 && only?.text && !only.metadata && !only.mediaType && !only.filename;
  return isPlain ? {} : { parts };
}

const producedTypes = ["text/plain", "application/json", "application/octet-stream"];

/** Throws `content_type_not_supported` if the client accepts none of the agent's media types (A2A 1.0, section 3.2.2). Default: all. */
export function checkOutputModes(acceptedTypes: readonly string[] | undefined): void {
  if (acceptedTypes !== undefined && !acceptedTypes.some(isProduced))
    throw new SekishoError("content_type_not_supported");
}

/** `*` matches any type or subtype. Older clients send only `text`. */
function isProduced(mode: string): boolean {
  const [type = "", subtype = "*"] = (mode.split(";", 1)[0] ?? "").trim().toLowerCase().split("/");
  return producedTypes.some((producedType) => {
    const [knownType, knownSubtype] = producedType.split("/");
    return (type === "*" || type === knownType) && (subtype === "*" || subtype === knownSubtype);
  });
}
