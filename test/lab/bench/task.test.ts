import { describe, expect, it } from "@jest/globals";
import { closeAfterTest, serve } from "../../doubles/serving.ts";
import { startBareSlack } from "./bare-slack.ts";
import { alone, together } from "./task.ts";

describe("the bench's Slack", () => {
  /** Asks a zone that posts these texts. */
  async function ask(texts: readonly string[], timeoutMs?: number) {
    const slack = closeAfterTest(await startBareSlack({ timeoutMs }));
    const { url: origin } = await serve(async ({ body }) => {
      const { event } = JSON.parse(Buffer.from(body).toString()) as { event: { ts: string } };
      for (const text of texts) {
        await fetch(`${slack.apiUrl}chat.postMessage`, {
          method: "POST",
          body: new URLSearchParams({ thread_ts: event.ts, text }),
        });
      }
      return new Response();
    });
    return slack.ask({ origin, text: "hello", words: "done" });
  }

  it("reports when a thread has its answer", async () => {
    const number = expect.any(Number);
    expect(await ask(["working", "done"])).toEqual({ placeholderMs: number, answerMs: number });
  });

  it("gives up a task without an answer in time", async () => {
    expect(await ask(["working"], 1)).toBeUndefined();
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
