/** The completion push: wakes the task it means, and can do nothing else. */
import { describe, expect, it } from "@jest/globals";
import { sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

const ask = sampleAsk();
const pushOf = (requestId: string, taskId = "t-1") => JSON.stringify({ request_id: requestId, task_id: taskId });

async function waitingWorld(pollsUntilDone: number) {
  const world = createWorld({ pollsUntilDone });
  world.deliver(ask);
  await world.run({ maxSteps: 2 });
  expect(world.records.get(ask.requestId)?.state).toBe("waiting");
  world.pass(5000);
  return world;
}

describe("a completion push", () => {
  it("brings the answer before the next poll is due, and leaves one chain of wake-ups", async () => {
    const world = await waitingWorld(1);
    expect(await world.push(pushOf(ask.requestId))).toBe(1);
    expect(world.records.get(ask.requestId)?.state).toBe("delivering");
    await world.run();
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("is dropped for an unknown task, another task id, what is none, and a task that is over", async () => {
    const world = await waitingWorld(1);
    const other = "00000000-0000-5000-8000-00000000000f";
    const forged = [
      pushOf(other),
      pushOf(ask.requestId, "t-2"),
      "{",
      "null",
      JSON.stringify({ type: "ask", requestId: other }),
      JSON.stringify({ type: "cancel", requestId: ask.requestId }),
    ];
    for (const body of forged) expect(await world.push(body)).toBe(0);
    await world.run();
    expect(await world.push(pushOf(ask.requestId))).toBe(0);
    expect(world.answers()).toEqual(["A checkpoint."]);
  });

  it("does not press a host that could not be asked, nor a task that is being canceled", async () => {
    let isAway = false;
    const world = createWorld({
      pollsUntilDone: 1000,
      fate: ({ party }) => (isAway && party === "host" ? "refused" : "ok"),
    });
    world.deliver(ask);
    await world.run({ maxSteps: 2 });
    isAway = true;
    await world.run({ maxSteps: 1 });
    world.pass(5000);
    const before = structuredClone(world.records.get(ask.requestId));
    await world.push(pushOf(ask.requestId));
    expect(world.records.get(ask.requestId)).toEqual(before);
    world.cancel(ask.requestId);
    await world.handleDue();
    const ending = structuredClone(world.records.get(ask.requestId));
    expect(ending?.ending).toBe("asked");
    world.pass(5000);
    await world.push(pushOf(ask.requestId));
    expect(world.records.get(ask.requestId)).toEqual(ending);
  });

  it("polls once a second at most, however many come", async () => {
    const world = await waitingWorld(1000);
    let polls = 0;
    for (let i = 0; i < 50; i++) polls += await world.push(pushOf(ask.requestId));
    expect(polls).toBe(1);
    world.pass(1000);
    expect(await world.push(pushOf(ask.requestId))).toBe(1);
  });
});
