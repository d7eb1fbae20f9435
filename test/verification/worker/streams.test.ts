/** The agent tells on its way: edits of the placeholder, or a native stream that in the end is the answer. */
import { describe, expect, it } from "@jest/globals";
import { SlackError } from "../../../lambdas/verification/slack/api/slack.ts";
import { sampleAsk } from "../task/sample.ts";
import { createWorld, type Fate } from "./world.ts";

const ask = sampleAsk();
const full = "A checkpoint on an old highway, where travellers were verified.";
const story = () => ({ status: "success", response_text: full }) as const;
/** A longer piece of the answer at each poll. */
const progress = (polls: number) => ({ text: `step ${polls}`, partial_text: full.slice(0, 8 * (polls + 1)) });
const deaths = ["dies_before", "dies_after"] as const;

/** `operations` has the names of what was asked of Slack, in their order, with the time. */
function watched(options: Parameters<typeof createWorld>[0] = {}) {
  const operations: { name: string; atMs: number }[] = [];
  const world: ReturnType<typeof createWorld> = createWorld({
    story,
    progress,
    pollsUntilDone: 5,
    ...options,
    async fate(operation) {
      const fate = (await options.fate?.(operation)) ?? "ok";
      if (operation.party === "slack") operations.push({ name: operation.name, atMs: world.now() });
      return fate;
    },
  });
  return { world, operations, count: (name: string) => operations.filter((each) => each.name === name).length };
}

describe("the agent's progress", () => {
  it("edits the placeholder, not more often than once a second and not in the last second before the answer", async () => {
    const { world, operations } = watched();
    world.deliver(ask);
    await world.run();
    const edits = operations.filter(({ name }) => name === "update").map(({ atMs }) => atMs);
    expect(edits.length).toBeGreaterThan(2);
    for (const [index, atMs] of edits.entries()) {
      if (index > 0) expect(atMs - (edits[index - 1] ?? 0)).toBeGreaterThanOrEqual(1000);
    }
    expect(world.posts.map(({ text }) => text)).toEqual([full]);
  });

  it("that may still land does not undo the answer: that is a new message", async () => {
    for (const fate of ["lost", "done_unknown", "late"] as const) {
      let edits = 0;
      const { world } = watched({ fate: ({ name }): Fate => (name === "update" && edits++ === 1 ? fate : "ok") });
      world.deliver(ask);
      await world.run();
      expect({ fate, texts: world.posts.map(({ text }) => text) }).toEqual({ fate, texts: [full] });
    }
  });

  it("is not worth a failure: the answer comes although Slack takes no edit of the placeholder", async () => {
    let isDone = false;
    const { world } = watched({
      story() {
        isDone = true;
        return story();
      },
      fate({ name }) {
        if (name === "update" && !isDone) throw new SlackError("rate_limited", { retryAfterMs: 3000 });
        return "ok";
      },
    });
    world.deliver(ask);
    await world.run();
    expect(world.posts.map(({ text }) => text)).toEqual([full]);
  });
});

describe("a stream of Slack", () => {
  it("is begun with the first piece, appended to, and becomes the answer", async () => {
    const { world, count } = watched({ streaming: true });
    world.deliver(ask);
    await world.run({ until: () => count("appendStream") > 1 });
    const stream = world.posts.find(({ streamingSinceMs }) => streamingSinceMs !== undefined);
    expect(full.startsWith(stream?.text ?? "?")).toBe(true);
    await world.run();
    expect(count("startStream")).toBe(1);
    expect(count("stopStream")).toBe(1);
    expect(world.posts.map(({ ts, text }) => [ts, text])).toEqual([[stream?.ts, full]]);
  });

  it("rolls over to a new message before four minutes, so that Slack never closes one that is written to", async () => {
    const slow = (polls: number) => ({ partial_text: "word ".repeat(polls + 1) });
    const { world, count } = watched({ streaming: true, progress: slow, pollsUntilDone: 600, deadlineMs: 3600_000 });
    world.deliver(ask);
    let longest = 0;
    const began = new Map<string, number>();
    for (let round = 0; round < 5000 && world.answers().length === 0; round++) {
      await world.run({ maxSteps: 1 });
      for (const { ts, streamingSinceMs } of world.posts) {
        if (streamingSinceMs === undefined) continue;
        began.set(ts, streamingSinceMs);
        longest = Math.max(longest, world.now() - streamingSinceMs);
      }
    }
    await world.run();
    expect(began.size).toBeGreaterThan(2);
    expect(count("startStream")).toBe(began.size);
    // A last look may come later; nothing was appended by then.
    expect(longest).toBeLessThan(300_000);
    expect(world.posts.map(({ text }) => text)).toEqual([full]);
  });

  it.each(["startStream", "appendStream"])(
    "that Slack refuses (%s) falls back to edits, and nothing of it stays",
    async (name) => {
      const { world, count } = watched({
        streaming: true,
        fate(operation) {
          if (operation.name === name) throw new SlackError("refused");
          return "ok";
        },
      });
      world.deliver(ask);
      await world.run();
      expect(count(name)).toBe(0);
      expect(count("update")).toBeGreaterThan(1);
      expect(world.posts.map(({ text }) => text)).toEqual([full]);
    },
  );

  it("that nobody knows of is removed, or made the answer: the thread shows it once", async () => {
    for (const name of ["startStream", "appendStream", "stopStream", "update"]) {
      for (const fate of ["refused", "lost", "done_unknown", "late", ...deaths] as const) {
        for (let nth = 0; nth < 2; nth++) {
          let seen = 0;
          const { world } = watched({
            streaming: true,
            fate: (operation): Fate => (operation.name === name && seen++ === nth ? fate : "ok"),
          });
          world.deliver(ask);
          await world.run();
          const texts = world.posts.map(({ text }) => text);
          expect({ name, fate, nth, texts }).toEqual({ name, fate, nth, texts: [full] });
        }
      }
    }
  });

  it.each(deaths)("leaves one answer after a crash at any single point (%s)", async (fate) => {
    for (let nth = 0; nth < 90; nth++) {
      let seen = 0;
      const { world } = watched({ streaming: true, fate: () => (seen++ === nth ? fate : "ok") });
      world.deliver(ask);
      await world.run();
      const texts = world.posts.map(({ text }) => text);
      expect({ fate, nth, texts, starts: world.starts.length }).toEqual({ fate, nth, texts: [full], starts: 1 });
    }
  });
});
