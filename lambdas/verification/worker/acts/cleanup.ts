/** Acts that leave nothing but the answer in the thread. */
import { cleanUpThread, hasLeftovers } from "../deliver.ts";
import { settleSession } from "../indicators.ts";
import type { ActFamily, ActParts } from "./parts.ts";

export function createCleanupActs(parts: ActParts): ActFamily<"check_thread" | "clean_up"> {
  const { slack, text, indicators, threads, now } = parts;
  return {
    async check_thread({ task, signal }) {
      const request = { slack, task, text, indicators, signal };
      // A status that Slack took late may say that the bot is still at work.
      if (indicators.sessions && (await threads.isIdle({ task }))) await settleSession(request);
      return (await hasLeftovers({ ...request, nowMs: now() }))
        ? { event: { type: "leftovers_found" } }
        : { event: { type: "cleaned_up" } };
    },
    async clean_up({ task, signal }) {
      await cleanUpThread({ slack, task, text, indicators, signal, nowMs: now() });
      return { event: { type: "cleaned_up" } };
    },
  };
}
