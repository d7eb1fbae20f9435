/** Limits of the contract that are wanted without its schemas: whatever must start fast loads only these. */

/** Slack's own limit of one message's text, in characters. */
export const maxTextLength = 40_000;
/** Longest id of a task, in characters: A2A's agents make their own. */
export const maxTaskIdLength = 256;
/** Of an answer that is still being written, told with the progress. */
export const maxPartialTextLength = 12_000;
