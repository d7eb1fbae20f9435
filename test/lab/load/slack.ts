/** The fake Slack of a load run. A share of its calls fails. */
import { openFakeSlack } from "@sekisho/local/both-zones.ts";
import type { Fault } from "@sekisho/local/fake-slack/faults.ts";
import { bump, type CallCounts } from "./counting-engine.ts";

export type LoadSlack = Awaited<ReturnType<typeof startLoadSlack>>;

/** Slack's own are too long for a run. */
export const retryDelaysMs = [0, 200, 1000, 5000];

/** A refusal, a failure with unknown effect, a reset before the effect, and a lost answer after it. */
const kinds: readonly ((method: string) => Fault)[] = [
  (method) => ({ method, type: "rate_limited", retryAfterSeconds: 1 }),
  (method) => ({ method, type: "status", status: 500 }),
  (method) => ({ method, type: "reset" }),
  (method) => ({ method, type: "lost_answer" }),
];

export async function startLoadSlack({
  failing,
  random,
}: {
  /** The share of calls that fail, 0 to 1. */
  failing: number;
  random: () => number;
}) {
  const counts: CallCounts = { calls: {}, failed: {} };
  const { fakeSlack, slack } = await openFakeSlack({
    pageSize: 200,
    retryDelaysMs,
    takeFault(method) {
      bump(counts.calls, method);
      if (random() >= failing) return undefined;
      bump(counts.failed, method);
      return kinds[Math.floor(random() * kinds.length)]?.(method);
    },
  });
  const secrets = {
    signingSecret: await slack.signingSecret(),
    botToken: await slack.botToken(),
  };
  return { ...fakeSlack, secrets, counts };
}
