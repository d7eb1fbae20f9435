/** Masks secrets in what a peer was sent or has said, before a person reads it. */

import { questionKey } from "@sekisho/contracts/a2a/extension.ts";

const mask = "[redacted]";
const secretName = /token|secret|password|authorization|api_?key|signature/i;

/** Tokens that are recognized anywhere in a text, because an agent may repeat one in its answer. */
const knownTokens = new RegExp(
  [
    // Slack.
    String.raw`\bx(?:ox[a-z](?:\.xox[a-z])?|app)-[A-Za-z0-9-]+`,
    // AWS access keys.
    String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
    // GitHub and Google.
    String.raw`\b(?:gh[oprsu]_|github_pat_|AIza)[\w-]{20,}`,
  ].join("|"),
  "g",
);
/** A key of a model API, or a name such as `sk-learn`, which has no digit. A lookahead for the digit would take quadratic time. */
const modelKey = /\bsk-[\w-]{16,}/g;
/** A JSON Web Token, or a word without a dot. A word that only a dot ends would be read again at each `eyJ` within it. */
const webToken = /\beyJ[\w-]+(?:\.[\w-]+)?(?:\.[\w-]*)?/g;

/** Masks known tokens and the credentials of HTTP's `authorization` in a text. */
export function maskTokens(text: string): string {
  return maskKnown(text)
    .replaceAll(authorization, `$1 ${mask}`)
    .replaceAll(letterToken, `$1 ${mask}`);
}

function maskKnown(text: string): string {
  return text
    .replaceAll(knownTokens, mask)
    .replaceAll(modelKey, (key) => (/\d/.test(key) ? mask : key))
    .replaceAll(webToken, (token) => (/\.[\w-]/.test(token) ? mask : token));
}

/** A token is no plain word, so that "the basic plan" stays. */
const authorization = /\b(bearer|basic)\s+(?=[^\s"\\]*[\d=._~+/-])[^\s"\\]+/gi;
/** A token of letters only has a capital within it, or is longer than the words that follow "bearer" in a text. */
const letterToken = /\b([Bb]earer|BEARER)\s+(?=[A-Za-z]*[a-z][A-Z]|[A-Za-z]{16})[A-Za-z]+/g;

/** Masks members with a secret's name, known tokens in any text, the query of `url` members, and links to sign in. */
export function redact(value: unknown): unknown {
  if (typeof value === "string") return maskKnown(value);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  const isQuestion = Object(value).status === "input_required" || Object(value).kind === "auth";
  return Object.fromEntries(
    Object.entries(isQuestion ? withoutLink(value) : value).map(([name, member]) => [
      name,
      redactMember({ name, member: name === questionKey ? withoutLink(member) : member }),
    ]),
  );
}

/** The path of a link to sign in may be its secret, too. */
function withoutLink<T>(question: T): T {
  const hasLink = typeof question === "object" && question !== null && "url" in question;
  return hasLink ? { ...question, url: mask } : question;
}

function redactMember({ name, member }: { name: string; member: unknown }): unknown {
  if (typeof member !== "string") return redact(member);
  if (secretName.test(name)) return mask;
  // An attachment's URL is signed: anyone who has it can read the file.
  if (name === "url") return member.replace(/[?#].*$/s, `?${mask}`);
  return redact(member);
}
