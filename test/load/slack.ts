/** The fake Slack of a load run, behind a real socket. A share of its calls fails. */
import type { Fault, Faults } from "../../lib/local/fake-slack/faults.ts";
import { createFakeSlackMessages, type FakeSlackMessages } from "../../lib/local/fake-slack/messages.ts";
import { createMethods } from "../../lib/local/fake-slack/methods.ts";
import { startWebApiServer } from "../../lib/local/fake-slack/web-api-server.ts";
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
  const messages = createFakeSlackMessages({ now: Date.now });
  const counts: CallCounts = { calls: {}, failed: {} };
  const faults: Faults = {
    inject() {},
    take(method) {
      bump(counts.calls, method);
      if (random() >= failing) return undefined;
      bump(counts.failed, method);
      return kinds[Math.floor(random() * kinds.length)]?.(method);
    },
  };
  const server = await startWebApiServer({
    methods: createMethods({ messages, pageSize: 200 }),
    faults,
    botToken,
    hostname: "127.0.0.1",
    port: 0,
    onCall() {},
  });
  return { apiUrl: server.apiUrl, messages, counts, close: server.close };
}
