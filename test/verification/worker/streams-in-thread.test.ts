/** Streams beside what else is in the thread: questions, and the streams of other tasks, which are nobody else's to touch. */
import { describe, expect, it } from "@jest/globals";
import { askedAtMs, sampleAsk } from "../task/sample.ts";
import { createWorld, type Fate } from "./world.ts";

const first = sampleAsk();
const second = {
  ...sampleAsk({ ts: `${askedAtMs / 1000 + 1}.000100`, threadTs: first.message.ts, text: "And who kept it?" }),
  requestId: "00000000-0000-5000-8000-000000000002",
};
const options = [{ id: "yes", label: "Yes" }];
type World = ReturnType<typeof createWorld>;

const textOf = (requestId: string) => (requestId === first.requestId ? "The first answer." : "The second answer.");
const texts = (world: World) => world.posts.map(({ text }) => text);
const recordOf = (world: World, { requestId }: typeof first) => world.records.get(requestId);

/** Agents that write for long, in a thread; the worker of the first one dies when it writes on. */
function writingWorld(more: Parameters<typeof createWorld>[0] = {}): World {
  let appends = 0;
  return createWorld({
    ...{ streaming: true, deadlineMs: 3600_000, pollsUntilDone: 300 },
    progress: (polls) => ({ partial_text: "word ".repeat(polls + 1) }),
    story: (requestId) => ({ status: "success", response_text: textOf(requestId) }),
    fate: ({ name }): Fate => (name === "appendStream" && appends++ === 0 ? "dies_after" : "ok"),
    ...more,
  });
}

describe("a task that may have begun a stream unknown to us", () => {
  it("does not take for its own what another task of the thread writes at the same time", async () => {
    const world = writingWorld({ concurrency: "parallel" });
    world.deliver(first);
    await world.run({ until: () => (recordOf(world, first)?.wait?.polls ?? 0) > 80 });
    world.deliver(second);
    await world.run({ until: () => recordOf(world, first)?.state === "done" });
    const [stream] = recordOf(world, second)?.stream?.messages ?? [];
    expect(world.posts.find(({ ts }) => ts === stream?.ts)?.text).toMatch(/^word /);
    await world.run();
    expect(texts(world).sort()).toEqual(["The first answer.", "The second answer."]);
  });

  it("leaves the follow-up's stream alone when it looks once more two minutes later", async () => {
    const world = writingWorld();
    world.deliver(first);
    await world.run({ until: () => recordOf(world, first)?.state === "done" });
    world.deliver(second);
    await world.run({ until: () => recordOf(world, first)?.cleanupDone === true });
    expect(recordOf(world, second)?.state).toBe("waiting");
    const [stream] = recordOf(world, second)?.stream?.messages ?? [];
    expect(world.posts.find(({ ts }) => ts === stream?.ts)?.text).toMatch(/^word /);
    await world.run();
    expect(texts(world)).toEqual(["The first answer.", "The second answer."]);
  });
});

describe("a stream that a worker died of beginning", () => {
  it("goes also where others wait in the thread, or have been answered there meanwhile", async () => {
    for (const nth of [0, 1]) {
      let starts = 0;
      const world = writingWorld({
        pollsUntilDone: 6,
        fate: ({ name }): Fate => (name === "startStream" && starts++ === nth ? "dies_after" : "ok"),
      });
      world.deliver(first);
      await world.run({ until: () => recordOf(world, first)?.state === "waiting" });
      world.deliver(second);
      await world.run();
      expect({ nth, texts: texts(world) }).toEqual({ nth, texts: ["The first answer.", "The second answer."] });
    }
  });
});

describe("an agent that writes, asks, and writes on", () => {
  const turns = ["First I look at it.", "Thank you. The answer is forty-two, and here is why."] as const;

  async function askingWorld({ openMs, writesOn }: { openMs: number; writesOn: boolean }) {
    let turn: 0 | 1 = 0;
    const world = createWorld({
      ...{ streaming: true, deadlineMs: 3600_000, questionMs: 8 * 3600_000, pollsUntilDone: 4 },
      questions: [{ prompt: "Shall I?", options }],
      progress: (polls) =>
        turn === 0 || writesOn ? { partial_text: turns[turn].slice(0, 15 * (polls + 1)) } : undefined,
      story: () => ({ status: "success", response_text: "It is forty-two." }),
    });
    world.deliver(first);
    await world.run({ until: () => recordOf(world, first)?.question?.ts !== undefined });
    turn = 1;
    world.pass(openMs);
    const place = { team: "T1", channel: "C1", threadTs: first.message.ts, user: "U1", atMs: world.now() };
    const button = { type: "answer", question: 0, option: 0 } as const;
    world.clickButton({ type: "button_click", requestId: first.requestId, ...place, button });
    return world;
  }

  it("begins a message of its own below the question, with its first word", async () => {
    const world = await askingWorld({ openMs: 1000, writesOn: true });
    await world.run({ until: () => (recordOf(world, first)?.stream?.messages.length ?? 0) > 1 });
    const [before, after] = recordOf(world, first)?.stream?.messages ?? [];
    const at = (ts: string | undefined) => world.posts.find((post) => post.ts === ts);
    expect(at(before?.ts)).toMatchObject({ text: turns[0], streamingSinceMs: undefined });
    expect(turns[1].startsWith(at(after?.ts)?.text ?? "?")).toBe(true);
    const order = world.posts.map(({ ts, text }) => (text.startsWith("Shall I?") ? "question" : ts));
    expect(order.indexOf("question")).toBeLessThan(order.indexOf(after?.ts ?? ""));
  });

  it("is answered below the question, whether it wrote after that or not, and nothing else stays", async () => {
    for (const writesOn of [true, false]) {
      for (const openMs of [1000, 2 * 3600_000]) {
        const world = await askingWorld({ openMs, writesOn });
        await world.run();
        expect(texts(world)).toEqual(["Shall I? U1: 0", "It is forty-two."]);
      }
    }
  });
});
