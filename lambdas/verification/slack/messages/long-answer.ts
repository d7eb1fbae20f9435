/** An answer as messages, in Markdown or in mrkdwn, and whether it is so long that it becomes a file. */

import { toMrkdwn } from "../markdown/mrkdwn.ts";
import { safeMarkdown, safePart } from "../markdown/safe-markdown.ts";
import { fencedTables } from "../markdown/tables.ts";
import { hasVisibleMrkdwn, hasVisibleText, isVisible, withoutComments } from "../markdown/visible-text.ts";
import { maxMarkdownLength, maxMrkdwnLength, splitAnswer } from "./split.ts";

/** More messages than this nobody reads. */
const mostParts = 5;
/** The same text takes about three times as many messages in mrkdwn. */
const mostPlainParts = 18;
/** The text of an answer never takes more messages. Only one whose file could not be attached comes near this. */
export const mostMessages = 20;
/** No more of a text is read. */
const maxReadLength = mostMessages * maxMarkdownLength;
/** A text up to this length is short in every form. */
const shortLength = 1000;
/** How much of an answer is shown that is attached as a file. */
const beginningLength = 3500;
export const longAnswerName = "answer.md";

/** `before` is a line in mrkdwn that stands before the text. */
export type AnswerForm = { type: "markdown" } | { type: "mrkdwn"; before: string };
/** Each part shows something. `isWhole`: nothing of the text is left out. */
export type AnswerMessages = { parts: readonly string[]; isWhole: boolean };

/**
 * Depends on the agent's text alone, so that the answer's files are the same at every try, also where Slack does not take its
 * blocks. The length alone does not tell: columns of a table and escaped signs are longer in a message than in the text.
 */
export function isLongAnswer(text: string): boolean {
  if (text.length <= shortLength) return false;
  if (text.length > mostParts * maxMarkdownLength) return true;
  const known = knownOf(text);
  return markdownOf(known).length > mostParts || plainParts({ mrkdwn: mrkdwnOf(known) }).length > mostPlainParts;
}

/** Safe to show: each part is for one markdown block, or for the text of one message. */
export function answerMessages(text: string, form: AnswerForm): AnswerMessages {
  const known = knownOf(text);
  const all = form.type === "mrkdwn" ? shownMrkdwn(known.safe, mrkdwnOf(known), form) : markdownOf(known);
  const parts = all.slice(0, mostMessages);
  const isWhole = all.length <= mostMessages && text.length <= maxReadLength;
  return { parts: form.type === "mrkdwn" ? parts : parts.filter(hasVisibleText), isWhole };
}

/** One message at most. */
export function beginningOf(text: string, form: AnswerForm): AnswerMessages {
  // What is shown is at most a part of this: the rest need not be looked through.
  const start = safeMarkdown(text.slice(0, beginningLength * 3));
  const [beginning = ""] = safeParts({ safe: start, maxLength: beginningLength });
  if (form.type === "markdown") return { parts: [beginning].filter(hasVisibleText), isWhole: false };
  return { parts: shownMrkdwn(beginning, toMrkdwn(beginning), form).slice(0, 1), isWhole: false };
}

/** Only what is made of the text says whether there is anything to see. */
function shownMrkdwn(safe: string, mrkdwn: string, { before }: { before: string }): string[] {
  if (!hasVisibleText(safe) || !isVisible(mrkdwn)) return [];
  const whole = plainParts({ mrkdwn, before });
  const shown = whole.filter(hasVisibleMrkdwn);
  // An answer of signs alone, a check mark for example, is shown as it is.
  return shown.length > 0 ? shown : whole;
}

function plainParts({ mrkdwn, before = "" }: { mrkdwn: string; before?: string }): string[] {
  return splitAnswer({ text: before === "" ? mrkdwn : `${before}\n${mrkdwn}`, maxLength: maxMrkdwnLength });
}

/** In Markdown, each of at most `maxLength`. A comment that is cut would be read: of a text that is cut none is left. */
function safeParts({ safe, maxLength }: { safe: string; maxLength: number }): string[] {
  const parts = splitAnswer({ text: fencedTables(safe.length > maxLength ? withoutComments(safe) : safe), maxLength });
  return parts.map((part) => safePart({ part, maxLength }));
}

type Known = { text: string; safe: string; markdown?: readonly string[]; mrkdwn?: string };
let latest: Known = { text: "", safe: "" };

/** One step of a task asks for the same text several times. */
function knownOf(text: string): Known {
  if (latest.text !== text) latest = { text, safe: safeMarkdown(readable(text)) };
  return latest;
}

function markdownOf(known: Known): readonly string[] {
  known.markdown ??= safeParts({ safe: known.safe, maxLength: maxMarkdownLength });
  return known.markdown;
}

function mrkdwnOf(known: Known): string {
  known.mrkdwn ??= toMrkdwn(known.safe);
  return known.mrkdwn;
}

/** Without half of a character at its end. */
function readable(text: string): string {
  return text.length <= maxReadLength ? text : text.slice(0, maxReadLength).replace(/[\uD800-\uDBFF]$/, "");
}
