/** Several messages of one thread: executed in order, one at a time. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "../../../contracts/errors.ts";
import { askedAtMs, sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

const threadTs = `${askedAtMs / 1000}.000001`;

function askOf(n: number, text = `Message ${n}`) {
  const id = `00000000-0000-5000-8000-00000000000${n}`;
  return { ...sampleAsk({ ts: `${askedAtMs / 1000}.00010${n}`, threadTs, text }), requestId: id };
}

/** A world that notes, for each message sent, how many answers the thread shows at that moment. */
function watchedWorld(options: Parameters<typeof createWorld>[0] = {}) {
  const answersAtSend: number[] = [];
  const world = createWorld({
    ...options,
    fate: (operation) => {
      if (operation.name === "execute_task") answersAtSend.push(world.answers().length);
      return options.fate?.(operation) ?? "ok";
    },
  });
  return { world, answersAtSend };
}

function historyOf(world: ReturnType<typeof createWorld>, n: number) {
  return world.records.get(askOf(n).requestId)?.history ?? [];
}

describe("messages of one thread", () => {
  it("are executed one after the other in their order, each when the answer before it is in the thread", async () => {
    const { world, answersAtSend } = watchedWorld({ pollsUntilDone: 3 });
    for (const n of [1, 3, 2]) world.deliver(askOf(n));
    await world.run();
    expect(world.starts).toEqual([1, 2, 3].map((n) => askOf(n).requestId));
    expect(answersAtSend).toEqual([0, 1, 2]);
    expect(world.answers()).toHaveLength(3);
    expect(world.posts).toHaveLength(3);
  });

  it("of different threads, or of a destination that allows it, do not wait for each other", async () => {
    const parallel = watchedWorld({ pollsUntilDone: 3, concurrency: "parallel" });
    for (const n of [1, 2, 3]) parallel.world.deliver(askOf(n));
    await parallel.world.run();
    expect(parallel.answersAtSend).toEqual([0, 0, 0]);

    const { world, answersAtSend } = watchedWorld({ pollsUntilDone: 3 });
    world.deliver(askOf(1));
    world.deliver({ ...askOf(2), message: { ...askOf(2).message, threadTs: undefined } });
    await world.run();
    expect(answersAtSend).toEqual([0, 0]);
  });

  it("go on when the one before them fails, or cannot be answered because the deadline has passed", async () => {
    const failing = watchedWorld({
      story: (id) => {
        if (id === askOf(1).requestId) throw new SekishoError("execution_failed");
        return { status: "success", response_text: "Done." };
      },
    });
    for (const n of [1, 2]) failing.world.deliver(askOf(n));
    await failing.world.run();
    expect(failing.world.answers()).toHaveLength(2);

    const stuck = watchedWorld({ pollsUntilDone: 10_000, cancelable: true });
    for (const n of [1, 2]) stuck.world.deliver(askOf(n));
    await stuck.world.run();
    expect(stuck.world.starts).toEqual([1, 2].map((n) => askOf(n).requestId));
    expect(stuck.world.answers().every((answer) => answer.includes('"timeout"'))).toBe(true);
  });

  it("wait for one whose answer Slack does not take for 75 seconds, not longer", async () => {
    let isAway = false;
    const { world } = watchedWorld({
      story: () => {
        isAway = true;
        return { status: "success", response_text: "Done." };
      },
      fate: ({ party, name }) => (isAway && party === "slack" && name !== "react" ? "refused" : "ok"),
    });
    for (const n of [1, 2]) world.deliver(askOf(n));
    for (let steps = 0; steps < 500 && world.starts.length < 2; steps++) await world.run({ maxSteps: 1 });
    expect(world.starts).toHaveLength(2);
    const outcomeMs = historyOf(world, 1).find(({ state }) => state === "delivering")?.atMs ?? 0;
    const turnMs = historyOf(world, 2).find(({ event }) => event === "thread_joined")?.atMs ?? 0;
    const heldMs = turnMs - outcomeMs;
    expect(heldMs).toBeGreaterThanOrEqual(75_000);
    // Until the next look.
    expect(heldMs).toBeLessThan(75_000 + 12_000);
  });

  it("go on although nobody tells the next one, or the record of the thread was out of reach", async () => {
    for (const name of ["get", "create", "replace", "send"]) {
      for (let at = 0; at < 40; at++) {
        let count = 0;
        const { world, answersAtSend } = watchedWorld({
          fate: (operation) => {
            if (operation.name !== name || operation.party === "slack") return "ok";
            return count++ === at ? "dies_after" : "ok";
          },
        });
        for (const n of [1, 2]) world.deliver(askOf(n));
        await world.run();
        expect(world.answers()).toHaveLength(2);
        // A worker that dies in the delivery is noticed later than the thread waits.
        const outcomeMs = historyOf(world, 1).find(({ state }) => state === "delivering")?.atMs ?? 0;
        const begunMs = historyOf(world, 2).find(({ state }) => state === "sent")?.atMs ?? 0;
        if (begunMs - outcomeMs < 75_000) expect(answersAtSend.at(-1)).toBe(1);
        expect(world.starts).toHaveLength(2);
      }
    }
  });

  it("say how many go before them, and are refused when there are too many", async () => {
    const world = createWorld({ pollsUntilDone: 2 });
    world.deliver(askOf(1));
    world.deliver(askOf(2));
    await world.run({ maxSteps: 6 });
    const second = world.records.get(askOf(2).requestId);
    expect(second).toMatchObject({ state: "queued", queuePosition: 1 });
    expect(second?.call?.deadlineAtMs).toBeUndefined();
    await world.run();
    const states = world.records.get(askOf(2).requestId)?.history.map(({ state }) => state);
    expect(states).toEqual(["received", "queued", "announced", "sent", "waiting", "delivering", "done"]);
  });
});
