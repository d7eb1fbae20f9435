/** The fake Slack of a load run, behind a real socket. A share of its calls fails. */
import type { Fault } from "@sekisho/local/fake-slack/faults.ts";
import type { FakeSlackMessages } from "@sekisho/local/fake-slack/messages.ts";
import { startSlackServer } from "@sekisho/local/fake-slack/server.ts";
import { createState } from "@sekisho/local/fake-slack/state.ts";
import { bump, type CallCounts } from "./counting-engine.ts";

export type LoadSlack = {
  apiUrl: string;
  messages: FakeSlackMessages;
  counts: CallCounts;
  close(): Promise<void>;
};

/** A refusal, a failure with unknown effect, a reset before the effect, and a lost answer after it. */
const kinds: readonly ((method: string) => Fault)[] = [
  (method) => ({ method, type: "rate_limited", retryAfterSeconds: 1 }),
  (method) => ({ method, type: "status", status: 500 }),
  (method) => ({ method, type: "reset" }),
  (method) => ({ method, type: "lost_answer" }),
];

export async function startLoadSlack({
  botToken,
  failing,
  random,
}: {
  botToken: string;
  /** The share of calls that fail, 0 to 1. */
  failing: number;
  random: () => number;
}): Promise<LoadSlack> {
  const state = createState({ botToken, pageSize: 200 });
  const counts: CallCounts = { calls: {}, failed: {} };
  const server = await startSlackServer({
    state,
    takeFault(method) {
      bump(counts.calls, method);
      if (random() >= failing) return undefined;
      bump(counts.failed, method);
      return kinds[Math.floor(random() * kinds.length)]?.(method);
    },
  });
  return { apiUrl: server.apiUrl, messages: state.messages, counts, close: server.close };
}
