/** Masks secrets in what a peer was sent or has said, before a person reads it. */

const mask = "[redacted]";
const secretName = /token|secret|password|authorization|api_?key|signature/i;
/** Matches Slack tokens anywhere in a text, because an agent may repeat one in its answer. */
const slackToken = /\bx(?:ox[a-z](?:\.xox[a-z])?|app)-[A-Za-z0-9-]+/g;

/** Masks Slack tokens and the credentials of HTTP's `authorization` in a text. */
export function maskTokens(text: string): string {
  return text.replaceAll(slackToken, mask).replaceAll(authorization, `$1 ${mask}`);
}

/** A token is no plain word, so that "the basic plan" stays. */
const authorization = /\b(bearer|basic)\s+(?=[^\s"\\]*[\d=._~+/-])[^\s"\\]+/gi;

/** Masks members with a secret's name, Slack tokens in any text, and the query of `url` members. */
export function redact(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll(slackToken, mask);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, redactMember({ name, member })]));
}

function redactMember({ name, member }: { name: string; member: unknown }): unknown {
  if (typeof member !== "string") return redact(member);
  if (secretName.test(name)) return mask;
  // An attachment's URL is signed: anyone who has it can read the file.
  if (name === "url") return member.replace(/[?#].*$/s, `?${mask}`);
  return redact(member);
}
