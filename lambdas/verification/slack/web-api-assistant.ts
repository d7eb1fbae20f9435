/** The assistant's own conversation (https://docs.slack.dev/ai/developing-ai-apps): what it is at, and what one could ask. */
import type { SlackApi } from "./slack.ts";
import type { SlackCall } from "./slack-call.ts";

export function createAssistant(call: SlackCall): Pick<SlackApi, "setStatus" | "suggestPrompts"> {
  return {
    async setStatus({ channel, threadTs, status, ...common }) {
      const args = { channel_id: channel, thread_ts: threadTs, status };
      await call({ method: "assistant.threads.setStatus", args, ...common, repeatable: true });
    },
    async suggestPrompts({ channel, threadTs, prompts, ...common }) {
      const args = { channel_id: channel, thread_ts: threadTs, prompts };
      await call({ method: "assistant.threads.setSuggestedPrompts", args, ...common, repeatable: true });
    },
  };
}
