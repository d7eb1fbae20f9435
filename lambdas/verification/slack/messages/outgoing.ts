/** The files that an answer comes with: itself where it is very long, and what the agent made. */
import type { Artifact } from "../../../../contracts/methods.ts";
import { isNestedTooDeep } from "../../../shared/json-depth.ts";
import { parseUrl } from "../../../shared/parse-url.ts";
import { safeLine } from "../../../shared/safe-characters.ts";
import type { Task, TaskOutcome } from "../../task/task.ts";
import { isLongAnswer, longAnswerName } from "./long-answer.ts";

/** `data` is any JSON. It is written only when its file is uploaded (`dataBytes`). */
type OutgoingContent = { text: string } | { base64: string } | { data: unknown } | { url: string };

export type OutgoingFile = { name: string; mimetype?: string; content: OutgoingContent };

/** A message of Slack shows no more well. */
const maxFiles = 20;

/** In the order of the outcome's `uploads`; the same at every try. */
export function outgoingFiles({ outcome }: Pick<Task, "outcome">): readonly OutgoingFile[] {
  return outcome?.type === "answer" ? listOf(outcome).files : [];
}

/** How many files of the answer nobody gets. */
export function leftOutCount({ outcome }: Pick<Task, "outcome">): number {
  return outcome?.type === "answer" ? listOf(outcome).leftOut : 0;
}

/** One line of JSON; undefined where it cannot be written. */
export function dataBytes(data: unknown): Uint8Array | undefined {
  return isNestedTooDeep(data) ? undefined : Buffer.from(`${JSON.stringify(data)}\n`);
}

type Answer = Extract<TaskOutcome, { type: "answer" }>;
type FileList = { files: readonly OutgoingFile[]; leftOut: number };

/** One step of a task asks for the list several times. */
const lists = new WeakMap<Answer, FileList>();

function listOf(answer: Answer): FileList {
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
    const made = contentOf(artifact);
    if (made === undefined || ("text" in made.content && made.content.text.trim() === said)) continue;
    if (files.length < maxFiles) {
      files.push({ name: nameAmong({ name: nameFor({ artifact, ...made }), taken: files.map(nameOf) }), ...made });
    } else surplus += 1;
  }
  return { files, leftOut: surplus + leftOut };
}

/** An artifact of nothing is none. */
function contentOf(artifact: Artifact): Omit<OutgoingFile, "name"> | undefined {
  const { text, base64, data, url, mimetype } = artifact;
  const type = mimetype === undefined || mimetype === "" ? {} : { mimetype };
  if (text !== undefined && text.trim() !== "") return { ...type, content: { text } };
  if (base64 !== undefined && base64 !== "") return { ...type, content: { base64 } };
  if (data !== undefined && data !== null) return { mimetype: "application/json", content: { data } };
  return url === undefined || url === "" ? undefined : { ...type, content: { url } };
}

function nameOf({ name }: OutgoingFile): string {
  return name;
}

// What a file of an answer is called: safe on every machine that it is saved to, with an ending that opens it.

const maxLength = 120;
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

type Made = { mimetype?: string; content: { text: string } | { base64: string } | { data: unknown } | { url: string } };

export function nameFor({ artifact, mimetype, content }: Made & { artifact: Artifact }): string {
  const fromUrl = "url" in content ? lastSegment(content.url) : "";
  const name = safe(artifact.name ?? "") || safe(fromUrl) || "file";
  if (ending.test(name)) return name;
  const known = endings[(mimetype ?? "").split(";")[0]?.trim().toLowerCase() ?? ""];
  return name + (known ?? ending.exec(safe(fromUrl))?.[0] ?? ("text" in content ? ".txt" : ".bin"));
}

/** Another one than those that are taken, on machines too that know no capitals: `report (2).csv`. */
function nameAmong({ name, taken }: { name: string; taken: readonly string[] }): string {
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
  const plain = safeLine(base)
    .replace(/\p{C}/gu, "")
    .replace(/[<>:"|?*`$]/g, "_")
    .replace(/\s+/g, " ")
    .replace(/^[.\s]+|[.\s]+$/g, "");
  if (plain.length <= maxLength) return plain;
  const end = ending.exec(plain)?.[0] ?? "";
  return (
    plain
      .slice(0, maxLength - end.length)
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
