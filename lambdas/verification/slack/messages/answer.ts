/** Turns an agent's answer into Slack messages and files. A very long answer becomes a file itself. */

import type { Artifact } from "@sekisho/contracts/methods.ts";
import {
  isNestedTooDeep,
  parseUrl,
  sanitizeLine,
  truncate,
} from "@sekisho/runtime/untrusted-input.ts";
import { isVisible } from "@sekisho/runtime/visible-text.ts";
import type { Locale, Task, TaskOutcome } from "../../task/task.ts";
import type { MessageContent, SlackBlock } from "../api/slack.ts";
import { type Markdown, trimMarkdown } from "../markdown/markdown.ts";
import { fencedTables, toMrkdwn } from "../markdown/mrkdwn.ts";
import { safeMarkdown, safePart } from "../markdown/safe-markdown.ts";
import { maxMarkdownLength, maxMrkdwnLength, splitAnswer } from "../markdown/split.ts";
import { hasVisibleMrkdwn, hasVisibleText, removeComments } from "../markdown/visible-text.ts";
import { context, cut, feedbackButtons, markdownBlock, removeEmpty, section } from "./blocks.ts";
import {
  aboveText,
  continuedText,
  cutAnswerText,
  emptyAnswerText,
  missingFilesText,
  referenceText,
} from "./outcome-text.ts";

type Answer = Extract<TaskOutcome, { type: "answer" }>;

/** The limit for our own text in place of an empty answer. Leaves room for the reference below it. */
const maxEmptyAnswerLength = maxMrkdwnLength - 100;

/** Returns the messages of an answer: its text, notes about its files, and the short request id. */
export function answerParts(request: {
  task: Task;
  answer: Answer;
  locale: Locale;
  /** People can vote on the answer. Messages in mrkdwn have no buttons. */
  canVote: boolean;
}): MessageContent[] {
  const { task, answer, locale, canVote } = request;
  const below = canVote ? [feedbackButtons({ requestId: task.id, locale })] : [];
  const shownAnswer = isAlwaysFile(answer.text) ? undefined : readAnswer(answer.text);
  const isLong = shownAnswer === undefined || isLongAnswer(shownAnswer);
  const { files, leftOut } = listFiles(answer, isLong);
  const failed = files.filter((_, index) => hasFailed({ answer, index })).map(({ name }) => name);
  const missing = missingFilesText({ locale, failed, leftOut });
  const before = aboveText({ task, locale });
  const reference = referenceText({ locale, requestId: task.id });
  const isAttached = isLong && !hasFailed({ answer, index: 0 });
  const form = { isPlain: task.mrkdwnFallback === true, before };
  const messages = isAttached
    ? shortenAnswer(answer.text, form)
    : answerMessages(shownAnswer ?? readAnswer(answer.text), form);
  const rest = isAttached
    ? continuedText({ locale, name: longAnswerName })
    : messages.isWhole
      ? ""
      : cutAnswerText[locale];
  const after = removeEmpty([rest, missing]);
  if (messages.parts.length === 0) {
    const replacement = emptyAnswerText[locale](files.length - failed.length);
    // Escaped file names can make this longer than a message.
    const text = cut({
      text: removeEmpty([before, replacement, missing]).join("\n"),
      maxLength: maxEmptyAnswerLength,
    });
    return [
      task.mrkdwnFallback
        ? plainLast({ text, reference })
        : withBlocks({ text, blocks: [section(text)], reference, below }),
    ];
  }
  return toContents({ messages, before, after, reference, below });
}

/**
 * Returns the messages of an answer that was canceled while it was written: the text so far, `note` and the reference. Returns none if
 * the text shows nothing.
 */
export function canceledAnswerParts(request: {
  task: Task;
  text: string;
  note: string;
  locale: Locale;
}): MessageContent[] {
  const { task, text, note, locale } = request;
  const before = aboveText({ task, locale });
  const form = { isPlain: task.mrkdwnFallback === true, before };
  const messages = answerMessages(readAnswer(text), form);
  const after = removeEmpty([messages.isWhole ? "" : cutAnswerText[locale], note]);
  return toContents({
    messages,
    before,
    after,
    reference: referenceText({ locale, requestId: task.id }),
  });
}

/** Adds the line `before` to the first part, and `after`, the reference and the blocks `below` to the last one. Parts in mrkdwn have the line already. */
function toContents(request: {
  messages: AnswerMessages;
  before: string;
  after: readonly string[];
  reference: string;
  below?: readonly SlackBlock[];
}): MessageContent[] {
  const { messages, before, after, reference, below = [] } = request;
  if (messages.parts.length === 0) return [];
  if (messages.isPlain) return plainContents({ texts: messages.parts, after, reference });
  return messages.parts.map(({ markdown, mrkdwn }, index) => {
    const isLast = index === messages.parts.length - 1;
    const above = index === 0 ? removeEmpty([before]) : [];
    return withBlocks({
      text: cut({ text: [...above, mrkdwn].join("\n"), maxLength: maxMrkdwnLength }),
      blocks: [
        ...above.map(context),
        markdownBlock(markdown),
        ...(isLast ? after.map(section) : []),
      ],
      reference: isLast ? reference : undefined,
      below: isLast ? below : [],
    });
  });
}

function hasFailed({ answer, index }: { answer: Answer; index: number }): boolean {
  const upload = answer.uploads?.[index];
  return upload !== undefined && "failed" in upload;
}

/** Appends `after` and the reference to the last message, or puts them into a message of their own if that one is full. */
function plainContents(request: {
  texts: readonly string[];
  after: readonly string[];
  reference: string;
}): MessageContent[] {
  const { texts, after, reference } = request;
  const parts = [...texts];
  const end = plainLast({ text: after.join("\n"), reference }).text;
  const last = parts.pop() ?? "";
  const together = removeEmpty([last, end]).join("\n\n");
  const ends =
    together.length <= maxMrkdwnLength
      ? [together]
      : [last, cut({ text: end, maxLength: maxMrkdwnLength })];
  return [...parts, ...ends].map((part) => ({ text: part }));
}

/** A text with the short request id below it. */
export function plainLast({ text, reference }: { text: string; reference: string }) {
  return { text: removeEmpty([text, `_${reference}_`]).join("\n") };
}

/** `text` is shown where Slack cannot show blocks, such as in notifications. `below` are the blocks below the reference. */
export function withBlocks(request: {
  text: string;
  blocks: readonly SlackBlock[];
  reference: string | undefined;
  below?: readonly SlackBlock[];
}): MessageContent {
  const { text, blocks, reference, below = [] } = request;
  return {
    text,
    blocks: [...blocks, ...(reference === undefined ? [] : [context(reference)]), ...below],
  };
}

/** An answer that needs more messages becomes a file, because nobody reads that many. */
const maxParts = 5;
/** In mrkdwn, the same text takes about three times as many messages. */
const maxMrkdwnParts = 18;
/** The limit for every answer. Only an answer that could not be attached as a file comes near it. */
export const mostMessages = 20;
/** Text beyond this length is ignored. */
const maxReadLength = mostMessages * maxMarkdownLength;
/** A text of at most this length never becomes a file. */
const shortLength = 1000;
/** How much of an attached answer the message shows. */
const shownLength = 3500;
const longAnswerName = "answer.md";

/** `isPlain` is true where Slack has refused blocks. `before` is a line of mrkdwn above the text. */
type AnswerForm = { isPlain: boolean; before: string };
/** Each part shows something. `isWhole` is true if nothing is left out. */
type AnswerMessages = { isWhole: boolean } & (
  | { isPlain: true; parts: readonly string[] }
  | { isPlain: false; parts: readonly { markdown: string; mrkdwn: string }[] }
);

/** The results of reading an agent's text. They are passed on, so that each text is read once. */
type ReadAnswer = {
  text: string;
  whole: Markdown;
  mrkdwn: string;
  /** Each fits into one markdown block. */
  parts: readonly Markdown[];
};

function readAnswer(text: string): ReadAnswer {
  const maxLength = maxMarkdownLength;
  const whole = safeMarkdown(truncate(text, maxReadLength));
  const trimmed = trimMarkdown(whole);
  const parts = splitSafe({ safe: whole, maxLength }).map((part) =>
    safePart({ whole: trimmed, part, maxLength }),
  );
  return { text, whole, mrkdwn: toMrkdwn(whole), parts };
}

/** True if the text is too long for messages, whatever is in it. */
function isAlwaysFile(text: string): boolean {
  return text.length > maxParts * maxMarkdownLength;
}

/**
 * Depends only on the agent's text, so that every try at a delivery has the same files, even after Slack has refused the blocks. The
 * length of the text is not enough: padded table columns and escaped characters make messages longer than the text.
 */
function isLongAnswer({ text, mrkdwn, parts }: ReadAnswer): boolean {
  if (text.length <= shortLength) return false;
  return parts.length > maxParts || plainParts({ mrkdwn }).length > maxMrkdwnParts;
}

function answerMessages(answer: ReadAnswer, form: AnswerForm): AnswerMessages {
  const { text, whole, mrkdwn } = answer;
  const isReadWhole = text.length <= maxReadLength;
  if (form.isPlain) {
    const parts = shownMrkdwn({ safe: whole, mrkdwn, before: form.before });
    const isWhole = isReadWhole && parts.length <= mostMessages;
    return { isPlain: true, isWhole, parts: parts.slice(0, mostMessages) };
  }
  const parts = answer.parts.slice(0, mostMessages).filter(hasVisibleText);
  return {
    isPlain: false,
    isWhole: isReadWhole && answer.parts.length <= mostMessages,
    parts: parts.map((part) => ({
      markdown: part.text,
      mrkdwn: part.blocks === whole.blocks ? mrkdwn : toMrkdwn(part),
    })),
  };
}

/** Returns the beginning of the text, in at most one message. */
function shortenAnswer(text: string, { isPlain, before }: AnswerForm): AnswerMessages {
  // Three times the shown length is enough to read, since a long text takes time.
  const whole = safeMarkdown(text.slice(0, shownLength * 3));
  const [part = ""] = splitSafe({ safe: whole, maxLength: shownLength });
  const safe = safePart({ whole, part, maxLength: shownLength });
  const mrkdwn = toMrkdwn(safe);
  return isPlain
    ? { isPlain, isWhole: false, parts: shownMrkdwn({ safe, mrkdwn, before }).slice(0, 1) }
    : {
        isPlain,
        isWhole: false,
        parts: hasVisibleText(safe) ? [{ markdown: safe.text, mrkdwn }] : [],
      };
}

/** Returns no parts if the text shows nothing, even though `before` would. */
function shownMrkdwn(request: { safe: Markdown; mrkdwn: string; before: string }): string[] {
  const { safe, mrkdwn, before } = request;
  if (!hasVisibleText(safe) || !isVisible(mrkdwn)) return [];
  const whole = plainParts({ mrkdwn, before });
  const shown = whole.filter(hasVisibleMrkdwn);
  // An answer of symbols alone, such as a check mark, is still shown.
  return shown.length > 0 ? shown : whole;
}

function plainParts({ mrkdwn, before = "" }: { mrkdwn: string; before?: string }): string[] {
  return splitAnswer({
    text: before === "" ? mrkdwn : `${before}\n${mrkdwn}`,
    maxLength: maxMrkdwnLength,
  });
}

/** Splits Markdown into parts of at most `maxLength`. Comments are removed first, because a cut comment would become visible. */
function splitSafe({ safe, maxLength }: { safe: Markdown; maxLength: number }): string[] {
  return splitAnswer({
    text: fencedTables(safe.text.length > maxLength ? removeComments(safe) : safe.text),
    maxLength,
  });
}

/** `data` is any JSON. `dataBytes` serializes it when the file is uploaded. */
type OutgoingContent = { text: string } | { base64: string } | { data: unknown } | { url: string };

export type OutgoingFile = { name: string; mimetype?: string; content: OutgoingContent };

/** One Slack message with more files would be hard to read. */
const maxFiles = 20;

type FileList = { files: readonly OutgoingFile[]; leftOut: number };

/** Returns the files in the order of the outcome's `uploads`. Every try at a delivery gets the same list. */
export function createOutgoingFiles({ outcome }: Pick<Task, "outcome">): readonly OutgoingFile[] {
  if (outcome?.type !== "answer") return [];
  const { text } = outcome;
  // Only a text between the two lengths must be read to know whether it becomes a file.
  const isLong =
    isAlwaysFile(text) || (text.length > shortLength && isLongAnswer(readAnswer(text)));
  return listFiles(outcome, isLong).files;
}

/** Returns one line of JSON, or undefined for data that is nested too deep to serialize. */
export function dataBytes(data: unknown): Uint8Array | undefined {
  return isNestedTooDeep(data) ? undefined : Buffer.from(`${JSON.stringify(data)}\n`);
}

/** `isLong` is true if the text becomes a file. Files above the limit are only counted. */
export function listFiles(
  { text, artifacts = [], leftOut = 0 }: Answer,
  isLong: boolean,
): FileList {
  const answerText = text.trim();
  const files: OutgoingFile[] = isLong
    ? [{ name: longAnswerName, mimetype: "text/markdown", content: { text } }]
    : [];
  let surplus = 0;
  for (const artifact of artifacts) {
    const made = readContent(artifact);
    if (isEmptyFile(artifact)) surplus += 1;
    if (made === undefined || ("text" in made.content && made.content.text.trim() === answerText))
      continue;
    if (files.length < maxFiles) {
      const taken = files.map(({ name }) => name);
      files.push({
        name: chooseUniqueName({ name: chooseFileName({ artifact, ...made }), taken }),
        ...made,
      });
    } else surplus += 1;
  }
  return { files, leftOut: surplus + leftOut };
}

/** Slack takes no empty files, so the answer says that one is missing. */
function isEmptyFile({ name = "", text, base64, data, url }: Artifact): boolean {
  const isEmpty = text === "" || base64 === "";
  return name !== "" && isEmpty && data === undefined && !url;
}

/** Returns undefined for an empty artifact. */
function readContent(artifact: Artifact): Omit<OutgoingFile, "name"> | undefined {
  const { text, base64, data, url, mimetype } = artifact;
  const type = mimetype === undefined || mimetype === "" ? {} : { mimetype };
  if (text !== undefined && text.trim() !== "") return { ...type, content: { text } };
  if (base64 !== undefined && base64 !== "") return { ...type, content: { base64 } };
  if (data !== undefined && data !== null)
    return { mimetype: "application/json", content: { data } };
  return url === undefined || url === "" ? undefined : { ...type, content: { url } };
}

const maxNameLength = 120;
/** Only the beginning and the end of a longer name are read. */
const maxReadNameLength = 1000;
const extension = /\.[\p{L}\p{N}]{1,10}$/u;

const extensions: Record<string, string> = {
  "application/gzip": ".gz",
  "application/json": ".json",
  "application/msword": ".doc",
  "application/pdf": ".pdf",
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
  "application/xml": ".xml",
  "application/yaml": ".yaml",
  "application/zip": ".zip",
  "audio/mpeg": ".mp3",
  "audio/wav": ".wav",
  "image/gif": ".gif",
  "image/jpeg": ".jpg",
  "image/png": ".png",
  "image/svg+xml": ".svg",
  "image/webp": ".webp",
  "text/calendar": ".ics",
  "text/css": ".css",
  "text/csv": ".csv",
  "text/html": ".html",
  "text/markdown": ".md",
  "text/plain": ".txt",
  "text/tab-separated-values": ".tsv",
  "text/xml": ".xml",
  "video/mp4": ".mp4",
};

/** Chooses a file name that is safe on every operating system, with an extension that fits the content. */
export function chooseFileName(
  request: Omit<OutgoingFile, "name"> & { artifact: Artifact },
): string {
  const { artifact, mimetype, content } = request;
  const fromUrl = "url" in content ? lastSegment(content.url) : "";
  const name = sanitizeFileName(artifact.name ?? "") || sanitizeFileName(fromUrl) || "file";
  if (extension.test(name)) return name;
  const known = extensions[(mimetype ?? "").split(";")[0]?.trim().toLowerCase() ?? ""];
  return (
    name +
    (known ??
      extension.exec(sanitizeFileName(fromUrl))?.[0] ??
      ("text" in content ? ".txt" : ".bin"))
  );
}

/** Adds a number to a taken name: `report (2).csv`. Compares names without case, as some file systems do. */
function chooseUniqueName({ name, taken }: { name: string; taken: readonly string[] }): string {
  const used = new Set(taken.map(foldCase));
  const end = extension.exec(name)?.[0] ?? "";
  const stem = name.slice(0, name.length - end.length);
  let unique = name;
  for (let count = 2; used.has(foldCase(unique)); count += 1) unique = `${stem} (${count})${end}`;
  return unique;
}

/** Removes the path, invisible characters, and characters with a meaning to a shell or a file system. */
function sanitizeFileName(name: string): string {
  const base = beginningAndEnd(name.split(/[/\\]/).at(-1) ?? "").normalize("NFC");
  const plain = sanitizeLine(base)
    .replace(/\p{C}/gu, "")
    .replace(/[<>:"|?*`$]/g, "_")
    .replace(/\s+/g, " ")
    .replace(/^[.\s]+|[.\s]+$/g, "");
  if (plain.length <= maxNameLength) return plain;
  const end = extension.exec(plain)?.[0] ?? "";
  return (
    plain
      .slice(0, maxNameLength - end.length)
      .toWellFormed()
      .replaceAll("\uFFFD", "") + end
  );
}

function beginningAndEnd(name: string): string {
  return name.length <= maxReadNameLength
    ? name
    : name.slice(0, maxReadNameLength / 2) + name.slice(-maxReadNameLength / 2);
}

function lastSegment(url: string): string {
  const segment = parseUrl(url)?.pathname.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function foldCase(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}
