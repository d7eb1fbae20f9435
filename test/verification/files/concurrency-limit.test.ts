import { describe, expect, it } from "@jest/globals";
import { createConcurrencyLimit } from "../../../lambdas/verification/files/concurrency-limit.ts";

const { signal } = new AbortController();

describe("turns", () => {
  it("are taken by so many at once and no more, in their order, also after failures", async () => {
    const turns = createConcurrencyLimit({ max: 2 });
    const order: string[] = [];
    let atOnce = 0;
    const work = async (name: string) => {
      atOnce += 1;
      expect(atOnce).toBeLessThanOrEqual(2);
      order.push(name);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce -= 1;
      if (name === "b") throw new Error("failed");
    };
    const names = ["a", "b", "c", "d", "e"];
    const results = await Promise.allSettled(names.map((name) => turns.take({ signal, work: () => work(name) })));
    expect(order).toEqual(names);
    expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
  });

  it("are given up by whoever no longer waits, and go to the next", async () => {
    const turns = createConcurrencyLimit({ max: 1 });
    const first = Promise.withResolvers<void>();
    const holder = turns.take({ signal, work: () => first.promise });
    const impatient = new AbortController();
    const gone = turns.take({ signal: impatient.signal, work: async () => "never" });
    const next = turns.take({ signal, work: async () => "next" });
    impatient.abort(new Error("gone"));
    await expect(gone).rejects.toThrow("gone");
    first.resolve();
    await holder;
    expect(await next).toBe("next");
    expect(await turns.take({ signal, work: async () => "later" })).toBe("later");
  });
});
