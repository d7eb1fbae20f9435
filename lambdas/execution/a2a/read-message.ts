/** Reads an A2A message: the task for the agent, or the answer to a question that the agent asked. */
import * as z from "zod";
import { questionKey, slackMessageKey, taskKey } from "../../../contracts/a2a/extension.ts";
import { joinTextParts, type Message, type Part } from "../../../contracts/a2a/part.ts";
import { SekishoError } from "../../../contracts/errors.ts";
import { maxTextLength } from "../../../contracts/limits.ts";
import {
  attachmentSchema,
  executeTaskParamsSchema,
  optionIdSchema,
  sessionIdSchema,
} from "../../../contracts/methods.ts";
import { createParamsError } from "../http/exchange.ts";
import { digest, type OpenQuestion, type PersonAnswer, type TaskInput } from "../tasks/execution-task.ts";

const maxAttachments = 20;

/** Of the Slack message behind it, where a message names one: whatever fits the contract, and nothing else. */
const { channel, thread_ts, team_id, user_id, correlation_id, history, timeout_ms } = executeTaskParamsSchema.shape;
const slackNotesSchema = z
  .object({
    channel: channel.optional().catch(undefined),
    thread_ts: thread_ts.catch(undefined),
    team_id: team_id.catch(undefined),
    user_id: user_id.catch(undefined),
    correlation_id: correlation_id.catch(undefined),
    history: history.catch(undefined),
  })
  .catch({});
const taskNotesSchema = z.object({ timeout_ms: timeout_ms.catch(undefined) }).catch({});
const choiceSchema = z.object({ option_id: optionIdSchema.optional() }).catch({});

/** The same for a repetition. What its metadata say may change by itself. */
export function fingerprintMessage({ role, parts, contextId, taskId }: Message): string {
  return digest([role, parts, contextId ?? null, taskId ?? null]);
}

/** Throws `invalid_params` for more text than a task may have. */
export function readTaskInput({ message, contextId }: { message: Message; contextId: string }): TaskInput {
  const { parts, metadata } = message;
  const attachments = readAttachments(parts);
  return {
    ...defined(slackNotesSchema.parse(metadata?.[slackMessageKey])),
    ...defined(taskNotesSchema.parse(metadata?.[taskKey])),
    text: limitedText(parts),
    ...(attachments.length > 0 && { attachments }),
    ...(sessionIdSchema.safeParse(contextId).success && { session_id: contextId }),
    ...listOtherParts(parts),
  };
}

/** An option is chosen by its id in the metadata, or by a text that is its label or its id. Throws as `readTaskInput` does. */
export function readAnswerMessage({
  message,
  question,
}: {
  message: Message;
  question: OpenQuestion | undefined;
}): Omit<PersonAnswer, "prompt"> {
  const { messageId, parts, metadata } = message;
  const text = limitedText(parts);
  const { user_id } = slackNotesSchema.parse(metadata?.[slackMessageKey]);
  const named = choiceSchema.parse(metadata?.[questionKey]).option_id;
  const said = text.trim();
  const option_id = named ?? question?.options?.find(({ id, label }) => id === said || label === said)?.id;
  const choice = defined({ option_id, user_id });
  return { id: messageId, fingerprint: fingerprintMessage(message), text, ...choice, ...listOtherParts(parts) };
}

function limitedText(parts: readonly Part[]): string {
  const text = joinTextParts(parts);
  if (text.length <= maxTextLength) return text;
  throw createParamsError([{ path: ["message", "parts"], message: `more than ${maxTextLength} characters of text` }]);
}

/** So that agents which know files by a Slack message's attachments see those as well that can be read like them. */
function readAttachments(parts: readonly Part[]): NonNullable<TaskInput["attachments"]> {
  return parts
    .flatMap(({ url, filename: name = "", mediaType: mimetype = "application/octet-stream" }, index) => {
      if (url === undefined) return [];
      const attachment = { id: `part-${index + 1}`, name, mimetype, size: 0, url };
      return attachmentSchema.safeParse(attachment).data ?? [];
    })
    .slice(0, maxAttachments);
}

/** Of one plain text the parts would say nothing more. */
function listOtherParts(parts: Part[]): { parts?: Part[] } {
  const [only, ...others] = parts;
  const isPlain = others.length === 0 && only?.text && !only.metadata && !only.mediaType && !only.filename;
  return isPlain ? {} : { parts };
}

function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}

const producedTypes = ["text/plain", "application/json", "application/octet-stream"];

/**
 * Whether a client can take anything that agents make (A2A 1.0, section 3.2.2: acceptedOutputModes). Nothing said is anything. Throws
 * `content_type_not_supported`.
 */
export function checkOutputModes(accepted: readonly string[] | undefined): void {
  if (accepted !== undefined && !accepted.some(isProduced)) throw new SekishoError("content_type_not_supported");
}

/** `*` stands for any type or subtype; older clients say only `text`. */
function isProduced(mode: string): boolean {
  const [type = "", subtype = "*"] = (mode.split(";", 1)[0] ?? "").trim().toLowerCase().split("/");
  return producedTypes.some((known) => {
    const [knownType, knownSubtype] = known.split("/");
    return (type === "*" || type === knownType) && (subtype === "*" || subtype === knownSubtype);
  });
}
