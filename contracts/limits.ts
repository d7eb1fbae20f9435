/** Limits of the contract that are wanted without its schemas: whatever must start fast loads only these. */

/** Slack's own limit of one message's text, in characters. */
export const maxTextLength = 40_000;
/** Longest id of a task, in characters: A2A's agents make their own. */
export const maxTaskIdLength = 256;
/** The limit for an answer that is still being written and is sent with the progress. */
export const maxPartialTextLength = 12_000;
/** Of the thread so far: messages, characters of each, and bytes of the whole as JSON. */
export const maxHistoryItems = 50;
export const maxHistoryTextLength = 4000;
export const maxHistoryBytes = 64 * 1024;
/** Largest `response_text` plus inline artifacts, in bytes of UTF-8 (a DynamoDB item holds 400 KB). */
export const maxResultBytes = 256 * 1024;
