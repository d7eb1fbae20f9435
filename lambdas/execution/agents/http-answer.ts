/** Reads an answer or a question from JSON of any endpoint. Errors name a member or a path, never a value. */
import { truncate } from "@sekisho/runtime/untrusted-input.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { TaskUpdate } from "./agent.ts";
import { RemoteError } from "./remote-call.ts";

/** The members in which endpoints put their answer. */
export const answerMembers = ["result", "response", "output", "answer", "text", "message"];
const errorMembers = ["error", "__error__"];
const promptMembers = ["question", "prompt", "message", "text", "description"];

const maxPromptLength = 10_000;
const maxOptions = 20;
const maxOptionLength = 128;

/** The other side has answered, but not with an answer. */
export function createUnreadable(kind: string): RemoteError {
  return new RemoteError(kind, { lost: false });
}

/** Undefined for a member that is missing, null or inherited. */
export function readMember(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name] ?? undefined;
}

/** `path` is such as $.messages[-1].content. A negative index counts from the end. */
export function readPath(value: unknown, path: string): unknown {
  const steps = path.match(/[\w-]+/g) ?? [];
  return steps.reduce<unknown>(
    (at, step) => (Array.isArray(at) ? readItem(at, step) : readMember(at, step)),
    value,
  );
}

/** Undefined for the name of a member. */
function readItem(list: readonly unknown[], step: string): unknown {
  return /^-?\d+$/.test(step) ? list.at(Number(step)) : undefined;
}

const textTypes: readonly unknown[] = ["text", "output_text", undefined];

/** A text, or a message whose content is a text or a list of parts, as those of Strands and LangChain are. Other parts are left out. */
export function readText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  const content = readMember(value, "content") ?? value;
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content : [content];
  const texts = parts.flatMap((part) => {
    const text = typeof part === "string" ? part : readMember(part, "text");
    return typeof text === "string" && textTypes.includes(readMember(part, "type")) ? [text] : [];
  });
  return texts.length === 0 ? undefined : texts.join("");
}

/** Many endpoints report a failure within a response of status 200. Some have an empty member as long as there is none. */
export function refuseError(value: unknown): void {
  const name = errorMembers.find((each) => {
    const error = readMember(value, each);
    return !isEmpty(error);
  });
  if (name !== undefined) throw createUnreadable(`the member "${name}" reports a failure`);
}

export function isEmpty(value: unknown): boolean {
  if (typeof value === "string") return !isVisible(value);
  return !value || (typeof value === "object" && Object.keys(value).length === 0);
}

/** The first text in one of the members, or undefined. */
export function findText(value: unknown, members: readonly string[]): string | undefined {
  return members.map((name) => readText(readMember(value, name))).find((text) => text?.trim());
}

export function readJsonAnswer(body: unknown, path: string | undefined): string {
  if (path !== undefined) {
    const text = readText(readPath(body, path));
    if (!text?.trim()) throw createUnreadable(`the response has no text at ${path}`);
    return text;
  }
  // Some write a list of results, of which there is one.
  const [result] = Array.isArray(body) && body.length === 1 ? body : [body];
  const text = typeof result === "string" ? result : findText(result, answerMembers);
  if (!text?.trim())
    throw createUnreadable(`the response has no text in ${answerMembers.join(", ")}`);
  return text;
}

type Question = Extract<TaskUpdate, { type: "question" }>;

/** Undefined if there is nothing at the path, or something empty. */
export function readQuestion(body: unknown, path: string): Question | undefined {
  const value = readPath(body, path);
  if (isEmpty(value)) return undefined;
  const question = toQuestion(value);
  if (question === undefined) throw createUnreadable(`the question at ${path} has no text`);
  return question;
}

/** Undefined for a value without a text of a question. An option is both the button and the reply. */
export function toQuestion(value: unknown): Question | undefined {
  const text = typeof value === "string" ? value : findText(value, promptMembers);
  if (!text?.trim()) return undefined;
  const prompt = truncate(text, maxPromptLength);
  const options = readMember(value, "options");
  const isUsable =
    Array.isArray(options) &&
    options.length > 0 &&
    options.length <= maxOptions &&
    new Set(options).size === options.length &&
    options.every((option) => typeof option === "string" && isLabel(option));
  if (!isUsable) return { type: "question", prompt };
  return { type: "question", prompt, options: options.map((id) => ({ id, label: id })) };
}

function isLabel(text: string): boolean {
  return isVisible(text) && text.length <= maxOptionLength;
}
