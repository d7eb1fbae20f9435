/** What a file of an answer is called: safe on every machine that it is saved to, with an ending that opens it. Pure. */
import type { Artifact } from "../../../contracts/methods.ts";

const maxLength = 120;
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
export function nameAmong({ name, taken }: { name: string; taken: readonly string[] }): string {
  const used = new Set(taken.map(folded));
  const end = ending.exec(name)?.[0] ?? "";
  const stem = name.slice(0, name.length - end.length);
  let unique = name;
  for (let count = 2; used.has(folded(unique)); count += 1) unique = `${stem} (${count})${end}`;
  return unique;
}

/** No path, nothing invisible, nothing that a shell or a file system takes for more than a letter. */
function safe(name: string): string {
  const base = name.normalize("NFC").split(/[/\\]/).at(-1) ?? "";
  const plain = base
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "")
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

function lastSegment(url: string): string {
  const segment = URL.parse(url)?.pathname.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function folded(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}
