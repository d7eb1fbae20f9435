/** Collects the body of a response within a limit. The long strings of a larger body can be cut instead. */
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createBodyCollector } from "@sekisho/runtime/http/read-body.ts";

export const defaultMaxResponseBytes = 1024 * 1024;

/** A body whose long strings are cut while reading may be this many times as large as the limit. */
export const maxShortening = 16;

/** `shortened` means that the body was larger than the limit, so that long strings of its JSON are cut. */
export type CappedBody = { body: Uint8Array; shortened?: true };

/**
 * Collects the chunks of one body. `add` throws `payload_too_large` past `maxBytes`. With `shortens` it cuts long strings first, and
 * throws only if the rest is still too large or the whole body exceeds `maxShortening` times the limit.
 */
export function createResponseCollector({
  maxBytes,
  shortens = false,
}: {
  maxBytes: number;
  shortens?: boolean;
}): {
  add(chunk: Uint8Array): void;
  end(): CappedBody;
} {
  let collector = createBodyCollector({ maxBytes });
  let bytes = 0;
  let shorten: ReturnType<typeof createShortener> | undefined;

  function collect(chunk: Uint8Array): void {
    if (!collector.add(shorten === undefined ? chunk : shorten(chunk))) throw createTooLargeError();
  }

  return {
    add(chunk) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes * maxShortening) throw createTooLargeError();
      if (shortens && shorten === undefined && bytes > maxBytes) {
        shorten = createShortener();
        const collectedBytes = collector.bytes();
        collector = createBodyCollector({ maxBytes });
        collect(collectedBytes);
      }
      collect(chunk);
    },
    end: () => ({ body: collector.bytes(), ...(shorten === undefined ? {} : { shortened: true }) }),
  };
}

/** Reads a stream, and cuts long strings if it is larger than `maxBytes`. Throws `payload_too_large` if the rest is still too large. */
export async function readShortened(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<CappedBody> {
  const collector = createResponseCollector({ maxBytes, shortens: true });
  for await (const chunk of stream) collector.add(chunk);
  return collector.end();
}

/** The error for a response that is too large to read. It is `unread`, because the content is unknown. */
export function createTooLargeError(): SekishoError {
  return new SekishoError("payload_too_large", { certainty: "unread" });
}

/** Longer strings are cut. Ids and states are always shorter. */
const maxStringBytes = 1024;

const [quote, backslash, letterU] = [0x22, 0x5c, 0x75];

/**
 * Creates a function that shortens the long strings of JSON text, given as consecutive pieces of UTF-8. It cuts between two characters
 * and never inside an escape, so that the text stays valid JSON.
 */
export function createShortener(): (piece: Uint8Array) => Uint8Array {
  let inString = false;
  /** The rest of the string is left out. */
  let isCut = false;
  let stringBytes = 0;
  let isEscape = false;
  let hexDigitsLeft = 0;

  /** Skips the rest of a cut string. Returns where the piece goes on: at the closing quote, or after its end. */
  function skipString(piece: Uint8Array, from: number): number {
    let at = from;
    let quoteAt = -1;
    let backslashAt = -1;
    if (isEscape && at < piece.length) {
      isEscape = false;
      at += 1;
    }
    for (;;) {
      if (quoteAt < at) quoteAt = indexIn(piece, quote, at);
      if (backslashAt < at) backslashAt = indexIn(piece, backslash, at);
      if (quoteAt <= backslashAt) return quoteAt;
      // The character after a backslash is no closing quote. It may be in the next piece.
      isEscape = backslashAt === piece.length - 1;
      at = backslashAt + 2;
      if (at >= piece.length) return piece.length;
    }
  }

  function keepsByte(byte: number): boolean {
    const beginsCharacter = !isEscape && hexDigitsLeft === 0 && (byte & 0xc0) !== 0x80;
    if (beginsCharacter && byte === quote) {
      inString = false;
      return true;
    }
    isCut = beginsCharacter && stringBytes >= maxStringBytes;
    stringBytes++;
    if (hexDigitsLeft > 0) hexDigitsLeft--;
    else if (isEscape) {
      isEscape = false;
      hexDigitsLeft = byte === letterU ? 4 : 0;
    } else isEscape = byte === backslash;
    return !isCut;
  }

  return (piece) => {
    const keptBytes = new Uint8Array(piece.length);
    let length = 0;
    for (let at = 0; at < piece.length; ) {
      if (isCut) {
        at = skipString(piece, at);
        if (at < piece.length) [isCut, inString] = [false, false];
        else continue;
        keptBytes[length++] = quote;
        at += 1;
      } else if (inString) {
        const byte = piece[at++] as number;
        if (keepsByte(byte)) keptBytes[length++] = byte;
      } else {
        const end = Math.min(piece.length, indexIn(piece, quote, at) + 1);
        inString = piece[end - 1] === quote;
        stringBytes = 0;
        keptBytes.set(piece.subarray(at, end), length);
        length += end - at;
        at = end;
      }
    }
    return keptBytes.subarray(0, length);
  };
}

/** The index of the byte, or the length of the piece. */
function indexIn(piece: Uint8Array, byte: number, from: number): number {
  const at = piece.indexOf(byte, from);
  return at === -1 ? piece.length : at;
}
