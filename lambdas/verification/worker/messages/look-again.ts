/** When the thread of a message without a mention is looked up again. */
import type { AskMessage, MessageChange } from "../../task/messages.ts";

/**
 * The delays before the thread of a message without a mention is looked up again. Such a message is for the bot only if the bot was
 * asked before in the thread, and the message that asked may be handled later than this one, up to half an hour later if it was retried.
 * Messages between people cost a few look-ups and leave no record.
 */
const lookAgainAfterMs = [30_000, 120_000, 480_000, 1_800_000];

/**
 * The same for a message with files that may mention the bot's user of another workspace. Slack tells of it as `app_mention` at about the
 * same time, and that task should not be sent before it has the files. One that begins a thread is for the bot only if there is that task.
 */
const lookForTaskAfterMs = { reply: [500, ...lookAgainAfterMs], first: [500, 30_000] };

/** Undefined if it is not looked up again. */
export function toLookDelayMs(
  { looks = 0, type, message: { perhapsAddressed, files, threadTs } }: AskMessage | MessageChange,
  { isUndecided }: { isUndecided: boolean },
): number | undefined {
  const mayComplete = type === "ask" && perhapsAddressed === true && files !== undefined;
  const afterMs = mayComplete
    ? lookForTaskAfterMs[threadTs === undefined ? "first" : "reply"]
    : lookAgainAfterMs;
  // While the message that asked the bot is undecided, this one waits for it.
  return afterMs[looks] ?? (isUndecided ? afterMs.at(-1) : undefined);
}
