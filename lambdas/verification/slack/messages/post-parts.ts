/** Which number says what a post of ours is (`part` of its key). */

export const placeholderPart = 0;
/** The first part of an agent's answer; the others follow. */
export const answerPart = 1;
/** The first part of an answer in mrkdwn alone, which stands where Slack did not take its blocks. */
export const plainPart = 501;
/** The first part of the words that stand where Slack did not take the answer. */
export const insteadPart = 1001;
/** The first question of the agent; further ones follow. */
export const questionPart = 2001;
/** What opens a thread for a slash command. */
export const openingPart = 3001;
/** The message with the answer's files: Slack posts it, and it is known by the files. */
export const filesPart = 4001;
/** A message that was to go and cannot be deleted. */
export const replacedPart = 6001;
/** A native stream that was not made the answer yet: Slack gives it no key, and it is known by its `ts`. */
export const streamPart = 5001;
