/** Which deaths are the same as one a moment before, and which only look like it. */
import { describe, expect, it } from "@jest/globals";
import { earlierDeaths } from "./deaths.ts";
import { type Point, remoteFaults } from "./faults.ts";
import type { Step } from "./world.ts";

type Given = { point: Point; process?: string; beganIn: number; doneIn?: number };

function deaths(options: readonly Given[], afterAt = 0) {
  const steps = options.map(({ point, process = "worker 1", beganIn, doneIn }, index): Step => {
    const always = {
      atMs: 0,
      zone: "verification",
      isOutage: false,
      about: "",
      detail: "",
      fate: undefined,
    } as const;
    return {
      ...always,
      at: index + 1,
      process,
      point,
      beganIn,
      doneIn,
      possible: remoteFaults[point],
    };
  });
  return Object.fromEntries(earlierDeaths({ steps, afterAt }));
}

const write = { point: "store.replace", beganIn: 1, doneIn: 2 } as const;
const read = { point: "store.get", beganIn: 1, doneIn: 2 } as const;

describe("dying before an operation", () => {
  it("equates dying before an operation with dying after the write at whose end it began", () => {
    expect(deaths([write, { point: "queue.send", beganIn: 2 }])).toEqual({
      2: { at: 1, kind: "dies_after" },
    });
  });

  it("equates dying before an operation with dying before the read at whose end it began", () => {
    expect(deaths([read, { point: "queue.send", beganIn: 2 }])).toEqual({
      2: { at: 1, kind: "dies_before" },
    });
  });

  it("equates dying before each operation that began at the end of a write with dying after the write", () => {
    const both = [
      { point: "queue.send", beganIn: 2 },
      { point: "slack.react", beganIn: 2 },
    ] as const;
    expect(Object.keys(deaths([write, ...both]))).toEqual(["2", "3"]);
  });

  it.each<[string, Given[]]>([
    ["it began later", [write, { point: "queue.send", beganIn: 3 }]],
    [
      "another process did something",
      [write, { point: "queue.send", process: "worker 2", beganIn: 2 }],
    ],
    [
      "something happened during the read",
      [
        { ...read, doneIn: 3 },
        { point: "queue.send", beganIn: 3 },
      ],
    ],
    [
      "the earlier one met a fault",
      [
        { point: "store.replace", beganIn: 1 },
        { point: "queue.send", beganIn: 2 },
      ],
    ],
    [
      "the earlier one left something behind and nobody can die after it",
      [
        { ...write, point: "agent.end" },
        { ...read, beganIn: 2 },
      ],
    ],
    ["nobody can die at it", [write, { point: "queue.finish", beganIn: 2 }]],
  ])("counts dying before an operation as a death of its own when %s", (_why, steps) => {
    expect(deaths(steps)).toEqual({});
  });

  it("counts a death of its own when another process began something in between", () => {
    const between = { point: "queue.send", process: "worker 2", beganIn: 2 } as const;
    expect(deaths([write, between, { point: "queue.send", beganIn: 2 }])).toEqual({});
  });

  it("counts a death of its own when the earlier operation is outside the search", () => {
    expect(deaths([write, { point: "queue.send", beganIn: 2 }], 1)).toEqual({});
  });
});
