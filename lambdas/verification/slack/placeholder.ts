/** The message that stands in the thread while a task is under way. Pure. */
import type { Task } from "../task/task.ts";
import { buttons, context, markdownBlock, section } from "./blocks.ts";
import { escapeMrkdwn } from "./escape.ts";
import type { Locale } from "./failure-words.ts";
import { fencedTables } from "./fenced-tables.ts";
import { toMrkdwn } from "./markdown-mrkdwn.ts";
import { newestText } from "./newest-text.ts";
import { cancelLabel, type Doing, doingWords, percentBar, statusWords } from "./progress-words.ts";
import { safeMarkdown, safePart } from "./safe-markdown.ts";
import { shorten } from "./shorten.ts";
import type { Block, Content } from "./slack.ts";
import { maxMarkdownLength, maxMrkdwnLength } from "./split-answer.ts";
import { hasVisibleText, isVisible } from "./visible-text.ts";

const maxProgressLength = 300;
/** The words around it have the rest of the room. */
const aroundLength = 400;

type Request = { task: Task; locale: Locale };

/** What is done, how far, and either the agent's words about it or the answer as far as it is written. */
export function placeholderContent({ task, locale }: Request): Content {
  const words = wordsOf({ task, locale });
  const written = writtenSoFar(task);
  const cancel = cancelButton({ task, locale });
  if (task.plain) return { text: filled([words, written === undefined ? "" : plainNewest(written)]).join("\n") };
  const blocks = written === undefined ? [section(words)] : [markdownBlock(newest(written)), context(words)];
  return { text: words, blocks: [...blocks, ...cancel] };
}

/** Of the assistant; in plain text. */
export function statusText({ task, locale }: Request): string {
  return statusWords({ what: doingOf(task), ahead: aheadOf(task), locale });
}

function wordsOf({ task, locale }: Request): string {
  const { text = "", percent } = task.progress ?? {};
  const doing = doingWords({ what: doingOf(task), ahead: aheadOf(task), locale });
  const line = task.ending === undefined ? shorten({ text, maxLength: maxProgressLength }) : "";
  const said = isVisible(line) ? escapeMrkdwn(line) : "";
  return filled([doing, said, percent === undefined ? "" : percentBar(percent)]).join("\n");
}

function doingOf({ ending, question, retryOf, progress, state }: Task): Doing {
  if (ending !== undefined) return ending === "asked" ? "canceling" : "ending";
  if (state === "asking" && question?.answer === undefined) return "asking";
  if (progress?.partialText !== undefined && progress.partialText !== "") return "writing";
  return retryOf === undefined ? "working" : "retrying";
}

/** How many go before it, as long as it waits for its turn. */
function aheadOf({ ahead = 0, state }: Task): number {
  return state === "received" || state === "queued" || state === "announced" ? ahead : 0;
}

/** Nothing where a native stream shows it already. */
function writtenSoFar({ progress, stream }: Task): string | undefined {
  const isStreamed = stream !== undefined && stream.refused === undefined && stream.messages.length > 0;
  const text = progress?.partialText ?? "";
  // An ellipsis says only that it was cut.
  return isStreamed || !hasVisibleText(newest(text).replace(/^…/, "")) ? undefined : text;
}

function newest(text: string): string {
  const markdown = fencedTables(safeMarkdown(end(text)));
  return safePart({ part: newestText({ text: markdown, maxLength: maxMarkdownLength }), maxLength: maxMarkdownLength });
}

/** What is not shown need not be read: a text may be as long as a response. */
function end(text: string): string {
  return newestText({ text, maxLength: maxMarkdownLength });
}

function plainNewest(text: string): string {
  return newestText({ text: toMrkdwn(safeMarkdown(end(text))), maxLength: maxMrkdwnLength - aroundLength * 5 });
}

function cancelButton({ task, locale }: Request): Block[] {
  if (task.ending !== undefined) return [];
  return [buttons([{ requestId: task.id, button: { type: "cancel" }, label: cancelLabel(locale) }])];
}

function filled(texts: readonly string[]): string[] {
  return texts.filter((text) => text !== "");
}
