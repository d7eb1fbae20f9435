/** Takes secrets out of JSON that someone will look at. */

const mask = "[redacted]";
const secretName = /token|secret|password|authorization|api_?key|signature/i;
/** Slack's tokens by their form, wherever they stand: an agent may have repeated one in its answer. */
const slackToken = /\bx(?:ox[a-z](?:\.xox[a-z])?|app)-[A-Za-z0-9-]+/g;

/** The same JSON, where members with a secret's name are masked, Slack tokens in texts are, and URLs end before their query. */
export function redact(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll(slackToken, mask);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, redactMember({ name, member })]));
}

function redactMember({ name, member }: { name: string; member: unknown }): unknown {
  if (typeof member !== "string") return redact(member);
  if (secretName.test(name)) return mask;
  // An attachment's url is signed: who has it can read the file.
  if (name === "url") return member.replace(/[?#].*$/s, `?${mask}`);
  return redact(member);
}
