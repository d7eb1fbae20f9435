/** The agent's answer as messages: its text, what is said about its files, and the short request id. Pure. */
import { leftOutCount, outgoingFiles } from "../files/outgoing.ts";
import type { Outcome, Task } from "../task/task.ts";
import { context, cut, markdownBlock, section } from "./blocks.ts";
import type { Locale } from "./failure-words.ts";
import { isLongAnswer, longAnswerName, markdownParts, safeParts } from "./long-answer.ts";
import { toMrkdwn } from "./markdown-mrkdwn.ts";
import { safeMarkdown } from "./safe-markdown.ts";
import type { Block, Content } from "./slack.ts";
import { maxMrkdwnLength, splitAnswer } from "./split-answer.ts";
import { hasVisibleMrkdwn, hasVisibleText, isVisible } from "./visible-text.ts";
import { emptyAnswerWords, goesOnWords, missingFilesWords, referenceWords, retriedWords } from "./words.ts";

/** How much of an answer is shown that is attached as a file. */
const beginningLength = 3500;
/** Words of ours in place of a text; the reference stands below them. */
const maxEmptyLength = maxMrkdwnLength - 100;

type Answer = Extract<Outcome, { type: "answer" }>;

export function answerParts(request: { task: Task; answer: Answer; locale: Locale }): Content[] {
  const { task, answer, locale } = request;
  const files = outgoingFiles(task);
  const failed = files.filter((_, index) => hasFailed({ answer, index })).map(({ name }) => name);
  const missing = missingFilesWords({ locale, failed, leftOut: leftOutCount(task) });
  const before = task.retryOf === undefined ? "" : retriedWords({ locale, retryOf: task.retryOf });
  const reference = referenceWords({ locale, requestId: task.id });
  // Where the whole could not be attached it is told in as many messages as it takes.
  const isBeginning = isLongAnswer(answer.text) && !hasFailed({ answer, index: 0 });
  const after = filled([isBeginning ? goesOnWords({ locale, name: longAnswerName }) : "", missing]);
  // Only what is made of the text says whether there is anything to see.
  const markdown = (isBeginning ? [beginningOf(answer.text)] : markdownParts(answer.text)).filter(hasVisibleText);
  const plain = task.plain && markdown.length > 0 ? plainTexts({ text: answer.text, isBeginning, before }) : [];
  if (plain.length > 0) return plainParts({ texts: plain, after, reference });
  if (markdown.length === 0 || task.plain) {
    const words = emptyAnswerWords({ locale, files: files.length - failed.length });
    // Names of files are escaped, which makes them longer.
    const text = cut({ text: filled([before, words, missing]).join("\n"), maxLength: maxEmptyLength });
    return [task.plain ? plainLast({ text, reference }) : withBlocks({ text, blocks: [section(text)], reference })];
  }
  return markdown.map((part, index) => {
    const isLast = index === markdown.length - 1;
    const said = index === 0 ? filled([before]) : [];
    return withBlocks({
      text: cut({ text: [...said, toMrkdwn(part)].join("\n"), maxLength: maxMrkdwnLength }),
      blocks: [...said.map(context), markdownBlock(part), ...(isLast ? after.map(section) : [])],
      reference: isLast ? reference : undefined,
    });
  });
}

type PlainText = { text: string; isBeginning: boolean; before: string };

/** The same in mrkdwn. None where nothing of the answer itself would be seen. */
function plainTexts({ text, isBeginning, before }: PlainText): string[] {
  const mrkdwn = toMrkdwn(safeMarkdown(isBeginning ? beginningOf(text) : text));
  if (!isVisible(mrkdwn)) return [];
  const whole = splitAnswer({ text: filled([before, mrkdwn]).join("\n"), maxLength: maxMrkdwnLength });
  const shown = whole.filter(hasVisibleMrkdwn);
  // An answer of signs alone, a check mark for example, is shown as it is.
  return shown.length > 0 ? shown : whole;
}

type Plain = { texts: readonly string[]; after: readonly string[]; reference: string };

/** What follows the answer stands in a message of its own where the last one is full. */
function plainParts({ texts, after, reference }: Plain): Content[] {
  const parts = [...texts];
  const end = plainLast({ text: after.join("\n"), reference }).text;
  const last = parts.pop() ?? "";
  const together = filled([last, end]).join("\n\n");
  const ends = together.length <= maxMrkdwnLength ? [together] : [last, cut({ text: end, maxLength: maxMrkdwnLength })];
  return [...parts, ...ends].map((part) => ({ text: part }));
}

/** Words of ours with the short request id below them. */
export function plainLast({ text, reference }: { text: string; reference: string }): Content {
  return { text: filled([text, `_${reference}_`]).join("\n") };
}

/** `text` stands where blocks are not shown. */
export function withBlocks(request: {
  text: string;
  blocks: readonly Block[];
  reference: string | undefined;
}): Content {
  const { text, blocks, reference } = request;
  return { text, blocks: reference === undefined ? blocks : [...blocks, context(reference)] };
}

function beginningOf(text: string): string {
  // What is shown is at most a part of this: the rest need not be looked through.
  const start = text.slice(0, beginningLength * 3);
  const [beginning = ""] = safeParts({ text: start, maxLength: beginningLength });
  return beginning;
}

function hasFailed({ answer, index }: { answer: Answer; index: number }): boolean {
  const upload = answer.uploads?.[index];
  return upload !== undefined && "failed" in upload;
}

function filled(texts: readonly string[]): string[] {
  return texts.filter((text) => text !== "");
}
