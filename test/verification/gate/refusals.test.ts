/** How often people without access are notified of a refusal. */
import { beforeEach, describe, expect, it } from "@jest/globals";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import {
  createRefusals,
  maxNoticesPerUser,
  maxRefusalsPerTeam,
  maxRefusalsPerUser,
  parseRefusalRecord,
  type RefusalRecord,
  type Refusals,
  refusalWindowMs,
} from "@sekisho/verification/gate/refusals.ts";
import { createMemoryTaskStore } from "../../world/records.ts";

const requester = { team: "T1", channel: "C1", user: "U1" };

let nowMs: number;
let calls: number;
let store: TaskStore<RefusalRecord>;
beforeEach(() => {
  nowMs = 1_760_000_000_000;
  calls = 0;
  const memory = createMemoryTaskStore({ parse: parseRefusalRecord, now: () => nowMs });
  const counts =
    <Request, Result>(call: (request: Request) => Promise<Result>) =>
    (request: Request) => {
      calls += 1;
      return call(request);
    };
  store = {
    ...memory,
    get: counts(memory.get),
    create: counts(memory.create),
    replace: counts(memory.replace),
  };
});

/** Each has the memory of a process of its own. */
const process = () => createRefusals({ store, now: () => nowMs });

/** As the worker does with a message: the number of people that were notified. */
async function tell(
  refusals: Refusals,
  messages: { requester: typeof requester; requestId: string }[],
): Promise<number> {
  const due = messages.filter((message) => !refusals.isSilent(message));
  const claims = await Promise.all(due.map((message) => refusals.claim(message)));
  return claims.filter(Boolean).length;
}

const messages = (count: number, whose: (n: number) => Partial<typeof requester> = () => ({})) =>
  Array.from({ length: count }, (_, n) => ({
    requester: { ...requester, ...whose(n) },
    requestId: `r${n}`,
  }));

const tellMany = (
  refusals: Refusals,
  count: number,
  whose: (n: number) => Partial<typeof requester>,
) => tell(refusals, messages(count, whose));

describe("a refusal", () => {
  it("shows a refusal to a person once per channel and again after 15 minutes", async () => {
    const refusals = process();
    expect(await tell(refusals, messages(40))).toBe(1);
    nowMs += refusalWindowMs - 1;
    expect(await tell(refusals, messages(40))).toBe(0);
    nowMs += 1;
    expect(await tell(refusals, messages(40))).toBe(1);
  });

  it("shows a refusal once across many concurrent processes", async () => {
    const claims = await Promise.all(
      Array.from({ length: 10 }, () => tell(process(), messages(4))),
    );
    expect(claims.reduce((sum, count) => sum + count)).toBe(1);
    expect(await tell(process(), messages(4))).toBe(0);
  });

  it("shows a refusal in each channel and to each person", async () => {
    const whose = [{ channel: "C1" }, { channel: "C2" }, { user: "U2" }, { team: "T2" }];
    expect(await tellMany(process(), 4, (n) => whose[n] ?? {})).toBe(4);
  });

  it("shows three refusals to a person in many channels and keeps the budget of others", async () => {
    const [refusals, other] = [process(), process()];
    const inChannels = messages(300, (n) => ({ channel: `C${n}` }));
    expect(await tell(refusals, inChannels)).toBe(maxRefusalsPerUser);
    expect(await tell(other, inChannels)).toBe(0);
    const callsBefore = calls;
    expect(await tellMany(refusals, 300, (n) => ({ channel: `C+${n}` }))).toBe(0);
    expect(calls).toBe(callsBefore);
    expect(await tellMany(other, 20, (n) => ({ user: `U+${n}` }))).toBe(20);
    nowMs += refusalWindowMs;
    expect(await tell(other, inChannels)).toBe(maxRefusalsPerUser);
  });

  it("has a separate budget for each workspace", async () => {
    const refusals = process();
    const people = (team: string) => messages(300, (n) => ({ team, user: `U${n}` }));
    expect(await tell(refusals, people("T1"))).toBe(maxRefusalsPerTeam);
    expect(await tell(process(), people("T1"))).toBe(0);
    expect(await tell(refusals, people("T2"))).toBe(maxRefusalsPerTeam);
    nowMs += refusalWindowMs;
    expect(await tell(refusals, people("T1"))).toBe(maxRefusalsPerTeam);
  });

  it("does not call the store for refusals that are not shown, of one person or of many", async () => {
    const refusals = process();
    await tell(refusals, messages(1));
    for (let n = 0; n <= maxRefusalsPerTeam; n++)
      await tellMany(refusals, 1, () => ({ user: `U-${n}` }));
    const callsBefore = calls;
    await tell(refusals, messages(1000));
    await tellMany(refusals, 1000, (n) => ({ user: `U+${n}` }));
    expect(calls).toBe(callsBefore);
  });

  it("does not call the store when a person clicks buttons again and again", async () => {
    const refusals = process();
    await refusals.claim({ requester });
    const callsBefore = calls;
    for (let n = 0; n < 300; n++) expect(await refusals.claim({ requester })).toBe(false);
    expect(calls).toBe(callsBefore);
  });

  it("does not silence the redelivery of a message whose refusal was not shown yet", () => {
    const refusals = process();
    const [first, second] = messages(2);
    if (first === undefined || second === undefined) throw new Error("two messages");
    const silent = [first, second, first].map((message) => refusals.isSilent(message));
    expect(silent).toEqual([false, true, false]);
  });

  it("shows no refusal while the store is unavailable", async () => {
    store = { ...store, get: () => Promise.reject(new Error("away")) };
    expect(await process().claim({ requester })).toBe(false);
  });

  it("lets the record expire when no refusal was shown for a while", async () => {
    await tell(process(), messages(1));
    expect((await store.get({ id: "refusals:T1" }))?.shown).toEqual([
      { user: "U1", about: "C1", atMs: nowMs },
    ]);
    nowMs += refusalWindowMs + 60_000;
    expect(await store.get({ id: "refusals:T1" })).toBeUndefined();
  });
});

describe("a notice to a person with access", () => {
  const notice = (
    refusals: Refusals,
    changes: { kind?: string; threadTs?: string; user?: string; channel?: string } = {},
  ) => {
    const { kind = "limited", threadTs, ...whose } = changes;
    return refusals.claimNotice({ requester: { ...requester, ...whose }, kind, threadTs });
  };

  it("shows a notice once per kind and thread across all processes and again after 15 minutes", async () => {
    const refusals = process();
    const inThread = { threadTs: "1.1" };
    const at = [
      {},
      {},
      { kind: "not_yours" },
      inThread,
      inThread,
      { channel: "C2" },
      { user: "U2" },
    ];
    const isTold: boolean[] = [];
    for (const each of at) isTold.push(await notice(refusals, each));
    expect(isTold).toEqual([true, false, true, true, false, true, true]);
    expect(await Promise.all([notice(process()), notice(process())])).toEqual([false, false]);
    nowMs += refusalWindowMs;
    expect(await notice(refusals)).toBe(true);
  });

  it("shows ten notices to one person and then does not call the store any more", async () => {
    const refusals = process();
    const isTold: boolean[] = [];
    for (let n = 0; n < 300; n++) isTold.push(await notice(refusals, { threadTs: `${n}.1` }));
    expect(isTold.filter(Boolean)).toHaveLength(maxNoticesPerUser);
    const callsBefore = calls;
    expect(await notice(refusals, { threadTs: "999.1" })).toBe(false);
    expect(calls).toBe(callsBefore);
    expect(await notice(refusals, { user: "U2" })).toBe(true);
  });

  it("keeps separate budgets for notices and for refusals", async () => {
    const refusals = process();
    await tellMany(refusals, 300, (n) => ({ user: `U${n}` }));
    expect(await notice(refusals)).toBe(true);
    nowMs += refusalWindowMs;
    for (let n = 0; n < 30; n++) await notice(refusals, { threadTs: `${n}.1` });
    expect(await tell(refusals, messages(1))).toBe(1);
  });
});
