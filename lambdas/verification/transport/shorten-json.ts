/** Cuts the long strings of a JSON text while it arrives, so that the rest of it can be read in little memory. Pure. */

/** Ids and states are shorter. */
const maxStringBytes = 1024;
const [quote, backslash, letterU] = [0x22, 0x5c, 0x75];

/**
 * Gives a function that takes the text's UTF-8 piece by piece and returns what is kept of each piece. A string is cut between
 * two characters, never within an escape, so that JSON stays JSON.
 */
export function createShortener(): (piece: Uint8Array) => Uint8Array {
  let inString = false;
  let isKept = true;
  let stringBytes = 0;
  let isEscape = false;
  let hexDigitsLeft = 0;

  /** Whether the byte belongs to what is kept. */
  function take(byte: number): boolean {
    if (!inString) {
      inString = byte === quote;
      stringBytes = 0;
      return true;
    }
    const beginsCharacter = !isEscape && hexDigitsLeft === 0 && (byte & 0xc0) !== 0x80;
    if (beginsCharacter && byte === quote) {
      inString = false;
      return true;
    }
    if (beginsCharacter) isKept = stringBytes < maxStringBytes;
    stringBytes++;
    if (hexDigitsLeft > 0) hexDigitsLeft--;
    else if (isEscape) {
      isEscape = false;
      hexDigitsLeft = byte === letterU ? 4 : 0;
    } else isEscape = byte === backslash;
    return isKept;
  }

  return (piece) => piece.filter(take);
}
