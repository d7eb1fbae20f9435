/** Masks the tokens of a run in every text that a person reads. */

const mask = "[redacted]";
/** An endpoint may cut a token short. A beginning of this length is masked as well. */
const minPrefix = 8;

/** The ways in which a token may be written: as it is, in base64, percent-encoded, and in JSON. */
export function listForms(token: string): string[] {
  const encodings = ["base64", "base64url"] as const;
  const encodedTokens = encodings.map((encoding) =>
    Buffer.from(token)
      .toString(encoding)
      .replace(/={1,2}$/, ""),
  );
  return [
    ...new Set([
      token,
      ...encodedTokens,
      encodeURIComponent(token),
      JSON.stringify(token).slice(1, -1),
    ]),
  ];
}

/** Mask a text before it is cut, or the rest of a token may stay. */
export function maskTokens(text: string, tokens: readonly string[]): string {
  const plain = text.replace(/\b(bearer|basic)\s+[^\s"\\]+/gi, `$1 ${mask}`);
  // A token may be part of another one, so the longest is replaced first.
  const forms = [...new Set(tokens.flatMap(listForms))].sort(
    (one, other) => other.length - one.length,
  );
  const whole = forms.reduce((maskedText, form) => maskedText.replaceAll(form, mask), plain);
  return forms.reduce(maskPrefix, whole);
}

function maskPrefix(text: string, token: string): string {
  if (token.length <= minPrefix) return text;
  const start = token.slice(0, minPrefix);
  // To replace each in the text would copy the whole text each time.
  const pieces: string[] = [];
  let end = 0;
  for (let at = text.indexOf(start); at >= 0; at = text.indexOf(start, end)) {
    pieces.push(text.slice(end, at), mask);
    end = at + minPrefix;
    while (end - at < token.length && text[end] === token[end - at]) end += 1;
  }
  return pieces.join("") + text.slice(end);
}
