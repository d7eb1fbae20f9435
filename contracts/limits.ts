/** Limits of the contract, without its schemas: code that must start fast loads only this file. */

/** Slack's own limit for the text of a message, in characters. */
export const maxTextLength = 40_000;
/** In characters. A2A agents choose their own ids. */
export const maxTaskIdLength = 256;
/** In characters, for the partial answer that is sent with the progress. */
export const maxPartialTextLength = 12_000;
/** The history of a thread: messages, characters of each, and bytes of the whole as JSON. */
export const maxHistoryItems = 50;
export const maxHistoryTextLength = 4000;
export const maxHistoryBytes = 64 * 1024;
/** The name of a person, a bot or a channel, in characters. Slack's own limits are lower. */
export const maxNameLength = 200;
/** Slack's own limit is 250 characters, before its mentions get names. */
export const maxTopicLength = 1000;
/** Channels, messages and documents that the person has open in Slack. */
export const maxOpenItems = 10;
/** `response_text` and inline artifacts together, in bytes of UTF-8. A DynamoDB item holds 400 KB. */
export const maxResultBytes = 256 * 1024;
/** Steps of one progress. */
export const maxSteps = 50;
/** Slack's own limit for a text that is typed into a form, in characters. */
export const maxFieldTextLength = 3000;

/** True for more than `max` Unicode characters, as JSON Schema counts them. A character takes one or two UTF-16 units. */
export function hasMoreCharacters(text: string, max: number): boolean {
  if (text.length <= max || text.length > 2 * max) return text.length > max;
  return [...text].length > max;
}

/** Ends a text of which a part was left out. */
export const cutMark = "…(cut)";

/** Returns at most `maxLength` UTF-16 units, and says so if the text was longer. Never ends with half a character. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const start = text
    .slice(0, Math.max(0, maxLength - cutMark.length))
    .replace(/[\uD800-\uDBFF]$/, "");
  return `${start.trimEnd()}${cutMark}`;
}
