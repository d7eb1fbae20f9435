/** Masks the tokens of a run in every text that a person reads. */

const masked = "[redacted]";
/** An endpoint may cut a token short. A beginning of this length is masked as well. */
const minPrefix = 8;

/** The ways in which a token may be written: as it is, in base64, percent-encoded, and in JSON. */
export function listForms(token: string): string[] {
  const encodings = ["base64", "base64url"] as const;
  const encoded = encodings.map((encoding) =>
    Buffer.from(token)
      .toString(encoding)
      .replace(/={1,2}$/, ""),
  );
  return [...new Set([token, ...encoded, encodeURIComponent(token), JSON.stringify(token).slice(1, -1)])];
}

/** Mask a text before it is cut, or the rest of a token may stay. */
export function maskTokens(text: string, tokens: readonly string[]): string {
  const plain = text.replace(/\b(bearer|basic)\s+[^\s"\\]+/gi, `$1 ${masked}`);
  // A token may be part of another one, so the longest is replaced first.
  const forms = [...new Set(tokens.flatMap(listForms))].sort((one, other) => other.length - one.length);
  const whole = forms.reduce((rest, form) => rest.replaceAll(form, masked), plain);
  return forms.reduce(maskPrefix, whole);
}

function maskPrefix(text: string, token: string): string {
  if (token.length <= minPrefix) return text;
  let rest = text;
  const start = token.slice(0, minPrefix);
  for (let at = rest.indexOf(start); at >= 0; at = rest.indexOf(start, at + masked.length)) {
    let length = minPrefix;
    while (length < token.length && rest[at + length] === token[length]) length += 1;
    rest = rest.slice(0, at) + masked + rest.slice(at + length);
  }
  return rest;
}
