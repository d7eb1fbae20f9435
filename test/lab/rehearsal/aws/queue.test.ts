import { describe, expect, it } from "@jest/globals";
import { createQueue } from "./queue.ts";

const never = Number.POSITIVE_INFINITY;

function open({ every = never, maxReceiveCount = never, delaySeconds = 0 } = {}) {
  let nowMs = 1_000_000;
  const dead: string[] = [];
  const queue = createQueue({
    visibilitySeconds: 30,
    delaySeconds,
    duplicates: { every, counted: 0 },
    redrive: { maxReceiveCount, take: ({ body }) => dead.push(body) },
    now: () => nowMs,
  });
  const pass = (seconds: number) => {
    nowMs += seconds * 1000;
  };
  const receive = () => queue.receive({ most: 10 });
  return { queue, dead, pass, receive };
}

describe("a queue", () => {
  it("delays a message to the second and hides it after it was received", () => {
    const { queue, pass, receive } = open();
    queue.send({ body: "later", delaySeconds: 900 });
    pass(899);
    expect(receive()).toEqual([]);
    expect(queue.depth()).toMatchObject({
      visible: 0,
      notVisible: 0,
      delayed: 1,
      oldestSeconds: 0,
    });
    pass(1);
    expect(receive().map(({ Body }) => Body)).toEqual(["later"]);
    pass(29);
    expect(receive()).toEqual([]);
    expect(queue.depth()).toMatchObject({ visible: 0, notVisible: 1, oldestSeconds: 29 });
    pass(1);
    expect(receive()[0]?.Attributes.ApproximateReceiveCount).toBe("2");
  });

  it("moves a message that was received too often to the dead letters", () => {
    const { queue, dead, pass, receive } = open({ maxReceiveCount: 2 });
    queue.send({ body: "poison" });
    for (let time = 0; time < 2; time++) {
      expect(receive()).toHaveLength(1);
      pass(30);
    }
    expect(receive()).toEqual([]);
    expect(dead).toEqual(["poison"]);
  });

  it("delivers some messages twice under one id, even after the first was removed", () => {
    const { queue, receive } = open({ every: 2 });
    queue.send({ body: "once" });
    queue.send({ body: "twice" });
    const first = receive();
    for (const { ReceiptHandle } of first) queue.remove(ReceiptHandle);
    const again = receive();
    expect(again.map(({ Body }) => Body)).toEqual(["twice"]);
    expect(again[0]?.MessageId).toBe(first[1]?.MessageId);
    expect(receive()).toEqual([]);
  });

  it("does not deliver the copy of a message again", () => {
    const { queue, pass, receive } = open({ every: 1 });
    queue.send({ body: "twice" });
    queue.remove(receive()[0]?.ReceiptHandle ?? "");
    expect(receive()).toHaveLength(1);
    pass(30);
    expect(receive()).toEqual([]);
    expect(queue.nextDueMs()).toBeUndefined();
  });
});
