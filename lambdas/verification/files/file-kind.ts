/** What a file is by its bytes, which count for more than what was said of it. */

const unknownType = "application/octet-stream";
/** So much of a file tells whether it is text. */
const sampleBytes = 64 * 1024;
/** Tab, line feed, form feed, carriage return, and the escape by which ISO-2022-JP begins. */
const textControls: readonly number[] = [0x09, 0x0a, 0x0c, 0x0d, 0x1b];
const mimetypePattern = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** What the bytes tell is no more than the wrapping of these: what was said of the content may stand. */
const wrappings: Record<string, RegExp> = {
  "application/xml": /^(text\/xml|text\/html|[^;]+\+xml)$/,
  "application/zip": /^(application\/(vnd\.|x-|java-archive$).*|[^;]+\+zip)$/,
  "application/x-cfb": /^application\/(msword|vnd\.).*$/,
};

/**
 * The mimetype: of what has a signature by that. What has none by its nature, such as a table of values or a program, is what
 * it was said to be where that can be; what should have one and has not is text, or unknown.
 */
export async function mimetypeOf({ bytes, said }: { bytes: Uint8Array; said: string }): Promise<string> {
  // Loaded with the first file: most messages have none.
  const { fileTypeFromBuffer, supportedMimeTypes } = await import("file-type");
  // What cannot be made out because it is broken is as good as unknown.
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  const claim = mimetypePattern.test(said.toLowerCase()) ? said.toLowerCase() : unknownType;
  if (found !== undefined) return wrappings[found.mime]?.test(claim) ? claim : found.mime;
  const hasSignature = supportedMimeTypes.has(claim);
  if (isText(bytes)) return isTextual(claim) || (isProgram(claim) && !hasSignature) ? claim : "text/plain";
  return hasSignature || claim.startsWith("text/") ? unknownType : claim;
}

function isTextual(mimetype: string): boolean {
  return /^text\/|\+(json|xml|yaml)$|^application\/xml$/.test(mimetype);
}

/** What is text although its type does not begin so: JSON, SQL, shell scripts. Documents of office programs are none. */
function isProgram(mimetype: string): boolean {
  return mimetype !== unknownType && /^application\/(?!vnd\.|msword)/.test(mimetype);
}

/** Slack answers with a page to sign in, and 200, where the token may not read the file. */
export function isSignInPage({
  bytes,
  contentType,
  said,
  name,
}: {
  bytes: Uint8Array;
  contentType: string;
  said: string;
  name: string;
}): boolean {
  if (/html/i.test(said) || /\.x?html?$/i.test(name)) return false;
  if (/^\s*(text\/html|application\/xhtml\+xml)\b/i.test(contentType)) return true;
  // A text may well begin like a page; a picture does not.
  return !/^text\//i.test(said) && beginsLikePage(bytes);
}

function beginsLikePage(bytes: Uint8Array): boolean {
  const start = Buffer.from(bytes.subarray(0, 1024)).toString("utf8");
  return /^\ufeff?\s*(<!--[\s\S]*?-->\s*)*<(!doctype\s+html|html)\b/i.test(start);
}

/** Without the bytes that no text has, in whatever encoding of Europe or Japan it is; or marked as UTF-16. */
function isText(bytes: Uint8Array): boolean {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  return !bytes.subarray(0, sampleBytes).some((byte) => byte < 0x20 && !textControls.includes(byte));
}
