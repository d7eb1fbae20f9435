/**
 * The notation of people, channels and groups in a text for the agent: `@name (U123)`, `#name (C123)`. Without a name it is `@U123`
 * or `#C123`.
 */

import { sanitizeLine, truncate } from "@sekisho/runtime/untrusted-input.ts";

/** Finds the name of a person, a channel or a group. */
export type NameOf = (id: string) => string | undefined;

const maxNameLength = 80;

/**
 * Cleans a name, which is free text of its owner: one line without invisible characters, and without brackets, which could imitate the
 * notation.
 */
export function cleanName(name: string, maxLength = maxNameLength): string {
  const visible = sanitizeLine(name.replace(/\s+/g, " ")).replace(
    /[\u200B-\u200D\u2060()[\]<>]/g,
    "",
  );
  return truncate(visible.replace(/ {2,}/g, " ").trim(), maxLength);
}

/** `label` is the name that Slack wrote beside the id. */
export function writeId({
  sign,
  id,
  label = "",
}: {
  sign: "@" | "#";
  id: string;
  label?: string;
}): string {
  const name = cleanName(label).replace(/^[@#]+/, "");
  return name === "" ? `${sign}${id}` : `${sign}${name} (${id})`;
}

/** An id without a name. Slack's ids have a digit, and words such as `@SRE` do not. */
const bareId =
  /(?<![\p{L}\p{N}_/@#&.-])([@#])([UWCGS](?=[A-Z]*\d)[A-Z0-9]{1,30})(?![\p{L}\p{N}_])/gu;

/** Lists the ids that have no name in the text. */
export function listIds(text: string): string[] {
  return [...new Set([...text.matchAll(bareId)].map(([, , id = ""]) => id))];
}

/** Adds the names of the ids that have none. */
export function addNames(text: string, nameOf: NameOf): string {
  return text.replace(bareId, (mention, sign: "@" | "#", id: string) => {
    const label = nameOf(id);
    return label === undefined ? mention : writeId({ sign, id, label });
  });
}
