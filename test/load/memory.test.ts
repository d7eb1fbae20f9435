import { describe, expect, it } from "@jest/globals";
import { memoryProblems } from "./memory.ts";

const steady = { heapBytes: 30e6, rssBytes: 200e6 };
const sample = (verification: typeof steady, execution = steady) => ({ answered: 1, atMs: 0, verification, execution });

describe("the memory of a load run", () => {
  it("is flat where it goes up and down", () => {
    expect(memoryProblems([sample(steady), sample({ ...steady, heapBytes: 44e6 }), sample(steady)])).toEqual([]);
  });

  it("is not where a zone keeps something of each task", () => {
    const leaking = { heapBytes: 46e6, rssBytes: 401e6 };
    expect(memoryProblems([sample(steady), sample(steady), sample(leaking)])).toHaveLength(2);
    expect(memoryProblems([sample(steady), sample(steady), sample(steady, leaking)])).toHaveLength(2);
  });
});
