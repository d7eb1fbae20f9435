import { afterEach, describe, expect, it } from "@jest/globals";
import { type BareSlack, startBareSlack } from "./bare-slack.ts";
import { alone, together } from "./task.ts";

let slack: BareSlack | undefined;
afterEach(() => slack?.close());

async function startSlack(options: { timeoutMs?: number } = {}): Promise<BareSlack> {
  slack = await startBareSlack({ team: "T1", botUser: "U1", ...options });
  return slack;
}

const threadTs = "1700000000.000001";

describe("the bench's Slack", () => {
  it("reports when a thread has its answer", async () => {
    const { apiUrl, answered } = await startSlack();
    const answer = answered({ threadTs, words: "done" });
    for (const text of ["working", "done"]) {
      await fetch(`${apiUrl}chat.postMessage`, {
        method: "POST",
        body: new URLSearchParams({ thread_ts: threadTs, text }),
      });
    }
    expect(await answer).toEqual({
      placeholderAtMs: expect.any(Number),
      answerAtMs: expect.any(Number),
    });
  });

  it("gives up a task without an answer in time", async () => {
    const { answered } = await startSlack({ timeoutMs: 1 });
    expect(await answered({ threadTs, words: "done" })).toBeUndefined();
  });
});

describe("a round", () => {
  const times = { placeholderMs: 1, answerMs: 2 };
  const zone = { processorMs: async () => 0 };

  function createSide(unanswered: number | undefined) {
    const none = () => [] as number[];
    const notes: string[] = [];
    let tasks = 0;
    return {
      notes,
      note: (text: string) => void notes.push(text),
      ask: async () => (++tasks === unanswered ? undefined : times),
      seen: {
        ...{ placeholderMs: none(), answerMs: none(), perSecond: none(), togetherMs: none() },
        ...{ verificationMs: none(), executionMs: none() },
      },
      verification: zone,
      execution: zone,
    };
  }

  it.each([
    ["counts if each task has an answer", undefined, 1, []],
    [
      "is dropped and noted if a task has no answer, and the next one runs",
      3,
      0,
      [
        "1 of 12 tasks had no answer in time, so their round does not count.",
        "1 of 256 tasks had no answer in time, so their round does not count.",
      ],
    ],
  ])("a round %s", async (_what, unanswered, counts, notes) => {
    const [one, many] = [createSide(unanswered), createSide(unanswered)];
    await alone(one)(true);
    await together(many)(true);
    expect([one.seen.answerMs.length, many.seen.perSecond.length]).toEqual([counts, counts]);
    await alone(one)(true);
    await together(many)(true);
    expect([one.seen.answerMs.length, many.seen.perSecond.length]).toEqual([
      counts + 1,
      counts + 1,
    ]);
    expect([...one.notes, ...many.notes]).toEqual(notes);
  });
});
