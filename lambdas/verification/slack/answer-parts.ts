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
import { hasVisibleMrkdwn, hasVisibleText } from "./visible-text.ts";
import { emptyAnswerWords, goesOnWords, missingFilesWords, referenceWords, retriedWords } from "./words.ts";

/** How much of an answer is shown that is attached as a file. */
const beginningLength = 3500;

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
  if (markdown.length === 0) {
    const words = emptyAnswerWords({ locale, files: files.length - failed.length });
    const text = filled([before, words, missing]).join("\n");
    return [task.plain ? plainLast({ text, reference }) : withBlocks({ text, blocks: [section(text)], reference })];
  }
  if (task.plain) return plainParts({ text: answer.text, isBeginning, before, after, reference });
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

type Plain = { text: string; isBeginning: boolean; before: string; after: readonly string[]; reference: string };

/** The same in mrkdwn. What follows the answer stands in a message of its own where the last one is full. */
function plainParts({ text, isBeginning, before, after, reference }: Plain): Content[] {
  const mrkdwn = toMrkdwn(safeMarkdown(isBeginning ? beginningOf(text) : text));
  const whole = splitAnswer({ text: filled([before, mrkdwn]).join("\n"), maxLength: maxMrkdwnLength });
  const parts = whole.filter(hasVisibleMrkdwn);
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
