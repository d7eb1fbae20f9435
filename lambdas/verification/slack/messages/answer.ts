/** The agent's answer in Slack: the messages that show it, and the files that it comes with. A very long answer becomes a file itself. */

import type { Artifact } from "../../../../contracts/methods.ts";
import { isNestedTooDeep, parseUrl, sanitizeLine } from "../../../shared/untrusted-input.ts";
import type { Locale, Task, TaskOutcome } from "../../task/task.ts";
import type { MessageContent, SlackBlock } from "../api/slack.ts";
import { fencedTables, toMrkdwn } from "../markdown/mrkdwn.ts";
import { safeMarkdown, safePart } from "../markdown/safe-markdown.ts";
import { hasVisibleMrkdwn, hasVisibleText, isVisible, removeComments } from "../markdown/visible-text.ts";
import { context, cut, markdownBlock, section } from "./blocks.ts";
import {
  continuedText,
  cutAnswerText,
  emptyAnswerText,
  missingFilesText,
  referenceText,
  retriedText,
} from "./outcome-text.ts";
import { maxMarkdownLength, maxMrkdwnLength, splitAnswer } from "./split.ts";

type Answer = Extract<TaskOutcome, { type: "answer" }>;

/** Words of ours in place of a text; the reference stands below them. */
const maxEmptyLength = maxMrkdwnLength - 100;

/** The agent's answer as messages: its text, what is said about its files, and the short request id. */
export function answerParts(request: { task: Task; answer: Answer; locale: Locale }): MessageContent[] {
  const { task, answer, locale } = request;
  const files = createOutgoingFiles(task);
  const failed = files.filter((_, index) => hasFailed({ answer, index })).map(({ name }) => name);
  const missing = missingFilesText({ locale, failed, leftOut: leftOutCount(task) });
  const before = task.retryOf === undefined ? "" : retriedText({ locale, retryOf: task.retryOf });
  const reference = referenceText({ locale, requestId: task.id });
  const isAttached = isLongAnswer(answer.text) && !hasFailed({ answer, index: 0 });
  const form = task.mrkdwnFallback ? ({ type: "mrkdwn", before } as const) : ({ type: "markdown" } as const);
  const { parts, isWhole } = isAttached ? shortenAnswer(answer.text, form) : answerMessages(answer.text, form);
  const rest = isAttached ? continuedText({ locale, name: longAnswerName }) : isWhole ? "" : cutAnswerText({ locale });
  const after = fillEmpty([rest, missing]);
  if (parts.length === 0) {
    const words = emptyAnswerText({ locale, files: files.length - failed.length });
    // Names of files are escaped, which makes them longer.
    const text = cut({ text: fillEmpty([before, words, missing]).join("\n"), maxLength: maxEmptyLength });
    return [
      task.mrkdwnFallback ? plainLast({ text, reference }) : withBlocks({ text, blocks: [section(text)], reference }),
    ];
  }
  if (task.mrkdwnFallback) return plainContents({ texts: parts, after, reference });
  return parts.map((part, index) => {
    const isLast = index === parts.length - 1;
    const said = index === 0 ? fillEmpty([before]) : [];
    return withBlocks({
      text: cut({ text: [...said, toMrkdwn(part)].join("\n"), maxLength: maxMrkdwnLength }),
      blocks: [...said.map(context), markdownBlock(part), ...(isLast ? after.map(section) : [])],
      reference: isLast ? reference : undefined,
    });
  });
}

function hasFailed({ answer, index }: { answer: Answer; index: number }): boolean {
  const upload = answer.uploads?.[index];
  return upload !== undefined && "failed" in upload;
}

type Plain = { texts: readonly string[]; after: readonly string[]; reference: string };

/** What follows the answer stands in a message of its own where the last one is full. */
function plainContents({ texts, after, reference }: Plain): MessageContent[] {
  const parts = [...texts];
  const end = plainLast({ text: after.join("\n"), reference }).text;
  const last = parts.pop() ?? "";
  const together = fillEmpty([last, end]).join("\n\n");
  const ends = together.length <= maxMrkdwnLength ? [together] : [last, cut({ text: end, maxLength: maxMrkdwnLength })];
  return [...parts, ...ends].map((part) => ({ text: part }));
}

/** Words of ours with the short request id below them. */
export function plainLast({ text, reference }: { text: string; reference: string }): MessageContent {
  return { text: fillEmpty([text, `_${reference}_`]).join("\n") };
}

/** `text` stands where blocks are not shown. */
export function withBlocks(request: {
  text: string;
  blocks: readonly SlackBlock[];
  reference: string | undefined;
}): MessageContent {
  const { text, blocks, reference } = request;
  return { text, blocks: reference === undefined ? blocks : [...blocks, context(reference)] };
}

function fillEmpty(texts: readonly string[]): string[] {
  return texts.filter((text) => text !== "");
}

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
const longAnswerName = "answer.md";

/** `before` is a line in mrkdwn that stands before the text. */
type AnswerForm = { type: "markdown" } | { type: "mrkdwn"; before: string };
/** Each part shows something. `isWhole`: nothing of the text is left out. */
type AnswerMessages = { parts: readonly string[]; isWhole: boolean };

/**
 * Depends on the agent's text alone, so that the answer's files are the same at every try, also where Slack does not take its
 * blocks. The length alone does not tell: columns of a table and escaped signs are longer in a message than in the text.
 */
function isLongAnswer(text: string): boolean {
  if (text.length <= shortLength) return false;
  if (text.length > mostParts * maxMarkdownLength) return true;
  const known = readKnownAnswer(text);
  return markdownOf(known).length > mostParts || plainParts({ mrkdwn: mrkdwnOf(known) }).length > mostPlainParts;
}

/** Safe to show: each part is for one markdown block, or for the text of one message. */
function answerMessages(text: string, form: AnswerForm): AnswerMessages {
  const known = readKnownAnswer(text);
  const all = form.type === "mrkdwn" ? shownMrkdwn(known.safe, mrkdwnOf(known), form) : markdownOf(known);
  const parts = all.slice(0, mostMessages);
  const isWhole = all.length <= mostMessages && text.length <= maxReadLength;
  return { parts: form.type === "mrkdwn" ? parts : parts.filter(hasVisibleText), isWhole };
}

/** One message at most. */
function shortenAnswer(text: string, form: AnswerForm): AnswerMessages {
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
  const parts = splitAnswer({ text: fencedTables(safe.length > maxLength ? removeComments(safe) : safe), maxLength });
  return parts.map((part) => safePart({ part, maxLength }));
}

type Known = { text: string; safe: string; markdown?: readonly string[]; mrkdwn?: string };
let latest: Known = { text: "", safe: "" };

/** One step of a task asks for the same text several times. */
function readKnownAnswer(text: string): Known {
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

/** `data` is any JSON. It is written only when its file is uploaded (`dataBytes`). */
type OutgoingContent = { text: string } | { base64: string } | { data: unknown } | { url: string };

export type OutgoingFile = { name: string; mimetype?: string; content: OutgoingContent };

/** A message of Slack shows no more well. */
const maxFiles = 20;

/** In the order of the outcome's `uploads`; the same at every try. */
export function createOutgoingFiles({ outcome }: Pick<Task, "outcome">): readonly OutgoingFile[] {
  return outcome?.type === "answer" ? readList(outcome).files : [];
}

/** How many files of the answer nobody gets. */
export function leftOutCount({ outcome }: Pick<Task, "outcome">): number {
  return outcome?.type === "answer" ? readList(outcome).leftOut : 0;
}

/** One line of JSON; undefined where it cannot be written. */
export function dataBytes(data: unknown): Uint8Array | undefined {
  return isNestedTooDeep(data) ? undefined : Buffer.from(`${JSON.stringify(data)}\n`);
}

type FileList = { files: readonly OutgoingFile[]; leftOut: number };

/** One step of a task asks for the list several times. */
const lists = new WeakMap<Answer, FileList>();

function readList(answer: Answer): FileList {
  const list = lists.get(answer) ?? makeList(answer);
  lists.set(answer, list);
  return list;
}

/** Beyond the limit artifacts are only counted. */
function makeList({ text, artifacts = [], leftOut = 0 }: Answer): FileList {
  const said = text.trim();
  const files: OutgoingFile[] = isLongAnswer(text)
    ? [{ name: longAnswerName, mimetype: "text/markdown", content: { text } }]
    : [];
  let surplus = 0;
  for (const artifact of artifacts) {
    const made = readContent(artifact);
    if (made === undefined || ("text" in made.content && made.content.text.trim() === said)) continue;
    if (files.length < maxFiles) {
      files.push({
        name: chooseUniqueName({ name: chooseFileName({ artifact, ...made }), taken: files.map(readName) }),
        ...made,
      });
    } else surplus += 1;
  }
  return { files, leftOut: surplus + leftOut };
}

/** An artifact of nothing is none. */
function readContent(artifact: Artifact): Omit<OutgoingFile, "name"> | undefined {
  const { text, base64, data, url, mimetype } = artifact;
  const type = mimetype === undefined || mimetype === "" ? {} : { mimetype };
  if (text !== undefined && text.trim() !== "") return { ...type, content: { text } };
  if (base64 !== undefined && base64 !== "") return { ...type, content: { base64 } };
  if (data !== undefined && data !== null) return { mimetype: "application/json", content: { data } };
  return url === undefined || url === "" ? undefined : { ...type, content: { url } };
}

function readName({ name }: OutgoingFile): string {
  return name;
}

const maxNameLength = 120;
/** The part of a longer name that is read: its beginning and its end. */
const maxRead = 1000;
const ending = /\.[\p{L}\p{N}]{1,10}$/u;

const endings: Record<string, string> = {
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

type FileContent = {
  mimetype?: string;
  content: { text: string } | { base64: string } | { data: unknown } | { url: string };
};

/** What a file of an answer is called: safe on every machine that it is saved to, with an ending that opens it. */
export function chooseFileName({ artifact, mimetype, content }: FileContent & { artifact: Artifact }): string {
  const fromUrl = "url" in content ? lastSegment(content.url) : "";
  const name = safe(artifact.name ?? "") || safe(fromUrl) || "file";
  if (ending.test(name)) return name;
  const known = endings[(mimetype ?? "").split(";")[0]?.trim().toLowerCase() ?? ""];
  return name + (known ?? ending.exec(safe(fromUrl))?.[0] ?? ("text" in content ? ".txt" : ".bin"));
}

/** Another one than those that are taken, on machines too that know no capitals: `report (2).csv`. */
function chooseUniqueName({ name, taken }: { name: string; taken: readonly string[] }): string {
  const used = new Set(taken.map(folded));
  const end = ending.exec(name)?.[0] ?? "";
  const stem = name.slice(0, name.length - end.length);
  let unique = name;
  for (let count = 2; used.has(folded(unique)); count += 1) unique = `${stem} (${count})${end}`;
  return unique;
}

/** No path, nothing invisible, nothing that a shell or a file system takes for more than a letter. */
function safe(name: string): string {
  const base = beginningAndEnd(name.split(/[/\\]/).at(-1) ?? "").normalize("NFC");
  const plain = sanitizeLine(base)
    .replace(/\p{C}/gu, "")
    .replace(/[<>:"|?*`$]/g, "_")
    .replace(/\s+/g, " ")
    .replace(/^[.\s]+|[.\s]+$/g, "");
  if (plain.length <= maxNameLength) return plain;
  const end = ending.exec(plain)?.[0] ?? "";
  return (
    plain
      .slice(0, maxNameLength - end.length)
      .toWellFormed()
      .replaceAll("\uFFFD", "") + end
  );
}

function beginningAndEnd(name: string): string {
  return name.length <= maxRead ? name : name.slice(0, maxRead / 2) + name.slice(-maxRead / 2);
}

function lastSegment(url: string): string {
  const segment = parseUrl(url)?.pathname.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function folded(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}
