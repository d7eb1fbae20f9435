/** Limits of the contract that are wanted without its schemas: whatever must start fast loads only these. */

/** Slack's own limit of one message's text, in characters. */
export const maxTextLength = 40_000;
/** Longest id of a task, in characters: A2A's agents make their own. */
export const maxTaskIdLength = 256;
/** Of an answer that is still being written, told with the progress. */
export const maxPartialTextLength = 12_000;
/** Of the thread so far: messages, characters of each, and bytes of the whole as JSON. */
export const maxHistoryItems = 50;
export const maxHistoryTextLength = 4000;
export const maxHistoryBytes = 64 * 1024;
