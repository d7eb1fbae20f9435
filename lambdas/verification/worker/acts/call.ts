/** Acts that call the Execution zone. */
import { renewStatus } from "../indicators.ts";
import type { ActFamily, ActParts } from "./parts.ts";

type CallActs = ActFamily<"send" | "poll" | "answer" | "cancel">;

export function createCallActs({ calls, slack, text, indicators, now }: ActParts): CallActs {
  return {
    send: async (request) => ({ event: await calls.run(request) }),
    answer: async (request) => ({ event: await calls.run(request) }),
    cancel: async (request) => ({ event: await calls.run(request) }),
    async poll(request) {
      const { task, signal } = request;
      const call = calls.run(request);
      await renewStatus({ slack, task, text, indicators, signal, nowMs: now() });
      return { event: await call };
    },
  };
}
