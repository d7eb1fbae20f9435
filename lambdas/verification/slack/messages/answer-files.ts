/** The files of an agent's answer: its artifacts, and a very long text. */
import type { Artifact } from "@sekisho/contracts/methods.ts";
import { isNestedTooDeep, parseUrl, sanitizeLine } from "@sekisho/runtime/untrusted-input.ts";
import type { Answer } from "./answer-text.ts";

export const longAnswerName = "answer.md";

/** `data` is any JSON. `dataBytes` serializes it when the file is uploaded. */
type OutgoingContent = { text: string } | { base64: string } | { data: unknown } | { url: string };

export type OutgoingFile = { name: string; mimetype?: string; content: OutgoingContent };

/** One Slack message with more files would be hard to read. */
const maxFiles = 20;

type FileList = { files: readonly OutgoingFile[]; leftOut: number };

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
    const answerFile = readContent(artifact);
    if (isEmptyFile(artifact)) surplus += 1;
    if (
      answerFile === undefined ||
      ("text" in answerFile.content && answerFile.content.text.trim() === answerText)
    )
      continue;
    if (files.length < maxFiles) {
      const usedNames = files.map(({ name }) => name);
      files.push({
        name: chooseUniqueName({ name: chooseFileName({ artifact, ...answerFile }), usedNames }),
        ...answerFile,
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
  const typeExtension = extensions[(mimetype ?? "").split(";")[0]?.trim().toLowerCase() ?? ""];
  return (
    name +
    (typeExtension ??
      extension.exec(sanitizeFileName(fromUrl))?.[0] ??
      ("text" in content ? ".txt" : ".bin"))
  );
}

/** Adds a number to a taken name: `report (2).csv`. Compares names without case, as some file systems do. */
function chooseUniqueName({
  name,
  usedNames,
}: {
  name: string;
  usedNames: readonly string[];
}): string {
  const foldedNames = new Set(usedNames.map(foldCase));
  const end = extension.exec(name)?.[0] ?? "";
  const stem = name.slice(0, name.length - end.length);
  let unique = name;
  for (let count = 2; foldedNames.has(foldCase(unique)); count += 1)
    unique = `${stem} (${count})${end}`;
  return unique;
}

/** Removes the path, invisible characters, and characters with a meaning to a shell or a file system. */
function sanitizeFileName(name: string): string {
  const base = shortenMiddle(name.split(/[/\\]/).at(-1) ?? "").normalize("NFC");
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

function shortenMiddle(name: string): string {
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
