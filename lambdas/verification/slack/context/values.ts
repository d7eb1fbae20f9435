/** Reads the untyped values of a Slack message, and bounds what one message may cost. */

import { cutMark } from "@sekisho/contracts/limits.ts";
import { isJsonObject, truncate } from "@sekisho/runtime/untrusted-input.ts";

export type Fields = Readonly<Record<string, unknown>>;

/**
 * The state of reading one message. `left` is how many more characters are read. It goes down with every value, so that neither
 * nested nor long values can keep the process busy.
 */
export type Reading = {
  readonly budget: { left: number; isCut: boolean };
  /** The bot's own users, whose mentions are left out. */
  readonly botUsers: readonly string[];
};

/** Five times the longest text that is sent, because Slack writes `&` as five characters. */
const maxCharacters = 200_000;
/** The cost of a value beside its characters. */
const valueCost = 10;
/** Levels of blocks in blocks. Slack allows about four. */
export const maxBlockDepth = 12;

export function createReading({ botUsers }: { botUsers: readonly string[] }): Reading {
  return { budget: { left: maxCharacters, isCut: false }, botUsers };
}

/** Reads the words of somebody else: mentions of the bot in them stay. The budget is the same. */
export function quotedReading({ budget }: Reading): Reading {
  return { budget, botUsers: [] };
}

export function fieldsOf(value: unknown): Fields {
  return isJsonObject(value) ? value : {};
}

/** The `type` of a block or an element. */
export function typeOf({ type }: Fields): string {
  return typeof type === "string" ? type : "";
}

/** Returns 0 for what is not a whole number. */
export function integerOf(value: unknown): number {
  return Number.isSafeInteger(value) ? Number(value) : 0;
}

/** Slack's id of a person, a channel or a group, or "". */
export function idOf(value: unknown): string {
  return typeof value === "string" && /^[A-Z0-9]{1,64}$/.test(value) ? value : "";
}

/** Returns no members of what is not a list, and only so many that half of the budget is left for what is in them. */
export function listOf(value: unknown, { budget }: Reading): readonly unknown[] {
  if (!Array.isArray(value)) return [];
  const count = Math.min(value.length, Math.floor(budget.left / (2 * valueCost)));
  budget.left -= count * valueCost;
  budget.isCut ||= count < value.length;
  return value.slice(0, count);
}

/** Returns "" for what is not a text. */
export function textOf(value: unknown, { budget }: Reading): string {
  if (typeof value !== "string") return "";
  const text = truncate(value, budget.left);
  budget.left -= text.length;
  budget.isCut ||= text.length < value.length;
  return toStorable(text);
}

/** Characters that XML 1.0 (section 2.2) excludes: controls, halves of surrogate pairs, U+FFFE and U+FFFF. */
const unstorable = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

/**
 * Replaces the characters that SQS refuses by U+FFFD. JSON would also write them with six bytes. Without them, a UTF-16 unit takes
 * at most three bytes, so the longest message stays below 256 KiB.
 */
export function toStorable(text: string): string {
  return text.replace(unstorable, "\ufffd");
}

/** Marks a text of which the budget left out a part. */
export function markCut(text: string): string {
  return `${text}\n${cutMark}`;
}

export function joinLines(lines: readonly string[]): string {
  return lines.filter((line) => line.trim() !== "").join("\n");
}

/** Separates the texts by blank lines. */
export function joinParagraphs(texts: readonly string[]): string {
  return texts.filter((text) => text.trim() !== "").join("\n\n");
}

export function quote(text: string): string {
  const lines = text.split(/\r\n?|[\n\u2028\u2029]/);
  return lines.map((line) => (line === "" ? ">" : `> ${line}`)).join("\n");
}

/** Undefined for what is no time that a date can hold. `seconds` may be a `ts` of Slack. */
export function toIsoDate(seconds: unknown): string | undefined {
  const isTime =
    typeof seconds === "number" ||
    (typeof seconds === "string" && /^\d{1,15}(?:\.\d{1,9})?$/.test(seconds));
  const ms = isTime ? Math.floor(Number(seconds)) * 1000 : Number.NaN;
  return Math.abs(ms) <= 8.64e15 ? new Date(ms).toISOString().replace(".000Z", "Z") : undefined;
}
