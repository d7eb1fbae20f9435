/** Files in the results of tools. */
import type { Artifact } from "@sekisho/contracts/methods.ts";

const mediaTypes: readonly unknown[] = ["image", "audio", "video", "document", "binary"];
const base64 = /^[A-Za-z0-9+/]*={0,2}$/;
const maxUrlLength = 4096;
const maxNameLength = 255;

/** Undefined for a part that is no file, and for one that only the agent's model provider can read. */
export function readMedia(part: unknown): Artifact | undefined {
  const { type, source, metadata, ...olderMembers } = Object(part) as Record<string, unknown>;
  if (!mediaTypes.includes(type)) return undefined;
  const { type: sourceType, value, mimeType } = Object(source) as Record<string, unknown>;
  // The older form has them beside the type.
  const mimetype = mimeType ?? olderMembers.mimeType;
  const name = Object(metadata).filename ?? olderMembers.filename;
  const url = sourceType === "url" ? value : olderMembers.url;
  const data = sourceType === "data" ? value : olderMembers.data;
  const members = {
    ...(isShortText(mimetype, maxNameLength) && { mimetype }),
    ...(isShortText(name, maxNameLength) && { name }),
  };
  if (isShortText(url, maxUrlLength)) return { ...members, url };
  const isData = typeof data === "string" && data.length % 4 === 0 && base64.test(data);
  return isData ? { ...members, base64: data } : undefined;
}

function isShortText(value: unknown, maxLength: number): value is string {
  return typeof value === "string" && value !== "" && value.length <= maxLength;
}
