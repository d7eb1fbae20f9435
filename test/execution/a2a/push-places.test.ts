/** Receivers that say nothing: they hold up their own notifications, and nobody else's. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { waitMs } from "../../../lambdas/execution/a2a/push-request.ts";
import { silence } from "../../doubles/answers.ts";
import { eventually } from "../test-host.ts";
import { configOf, createPushZone, memoryQueue, startReceiver, statesOf } from "./push-zone.ts";

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

async function receiver({ isSilent = false } = {}) {
  const answers = isSilent ? new Array(40).fill(() => silence({ signal: new AbortController().signal })) : [];
  const opened = await startReceiver({ answers });
  toClose.push(opened.close);
  return opened;
}

/** Notices of finished tasks for each of these addresses, handed to one process all at once. */
async function deliverAtOnce(urls: readonly string[]) {
  const { queue, sent } = memoryQueue();
  const zone = createPushZone({ queue });
  for (const url of urls) await zone.begin({ pushConfigs: [configOf({ url })] });
  const ending = new AbortController();
  const ended = sent.splice(0).map(({ body }) => zone.delivery.handle({ body, signal: ending.signal }));
  toClose.push(async () => {
    ending.abort(new Error("enough"));
    await Promise.allSettled(ended);
  });
  return { sent };
}

describe("a receiver that never answers", () => {
  it("is asked four times at once, and what else it is to be told waits in the queue without counting a try", async () => {
    const [tarpit, other] = [await receiver({ isSilent: true }), await receiver()];
    const { sent } = await deliverAtOnce([...new Array(10).fill(tarpit.url), other.url]);
    await eventually(() => sent.length === 6 && other.received.length === 1);
    await eventually(() => tarpit.received.length === 4);
    expect(statesOf(other.received)).toEqual(["TASK_STATE_COMPLETED"]);
    for (const { body, delayMs } of sent) {
      expect(JSON.parse(body).push.attempt).toBe(0);
      expect(delayMs).toBeGreaterThan(200);
    }
  });

  it("takes, with others of its caller's, no more than twelve places", async () => {
    const tarpits = await Promise.all(new Array(5).fill(0).map(() => receiver({ isSilent: true })));
    const { sent } = await deliverAtOnce(tarpits.flatMap(({ url }) => new Array(4).fill(url)));
    await eventually(() => sent.length === 8);
    await eventually(() => tarpits.reduce((sum, { received }) => sum + received.length, 0) === 12);
  });
});

it.each([
  [0, 0, 250],
  [10_000, 0, 5000],
  [10_000, 1, 10_000],
  [3_600_000, 1, 60_000],
])("a notice that has waited %i ms waits again, by chance %d, for %i ms", (ageMs, chance, delayMs) => {
  expect(waitMs({ ageMs, random: () => chance })).toBe(delayMs);
});
