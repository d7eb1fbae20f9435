/** A conversation with the assistant was opened: the prompts of the configuration are suggested. */
import type { SlackApi } from "../slack/slack.ts";
import type { Greet } from "../task/messages.ts";

export type HandleGreet = (request: { greet: Greet; signal: AbortSignal }) => Promise<void>;

/** Best effort: a conversation can be had without. */
export function createHandleGreet({
  slack,
  prompts,
}: {
  slack: SlackApi;
  prompts: readonly { title: string; message: string }[];
}): HandleGreet {
  return async ({ greet: { team, enterprise, channel, threadTs, requestId }, signal }) => {
    if (prompts.length === 0) return;
    const suggested = slack.suggestPrompts({
      installation: { team, enterprise },
      channel,
      threadTs,
      prompts,
      requestId,
      signal,
    });
    await suggested.catch(() => {});
  };
}
