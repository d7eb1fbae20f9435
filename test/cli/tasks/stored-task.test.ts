/** Listings by state, merged into one. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { mergeOldestFirst, type StoredTask } from "../../../lib/cli/tasks/stored-task.ts";
import { sampleTask } from "../../verification/task/sample.ts";

const item = (id: string, task: Task | undefined): StoredTask => ({
  id,
  revision: 1,
  state: "sent",
  expiresAtMs: 0,
  task,
});

describe("several listings", () => {
  it("become one in order of age, each task once, without what is no task", async () => {
    const entry = fc.record({ at: fc.integer({ min: 0, max: 50 }), readable: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(entry), { maxLength: 5 }), async (lists) => {
        const listings = lists.map(async function* (entries) {
          for (const { at, readable } of entries.toSorted((a, b) => a.at - b.at)) {
            yield item(String(at), readable ? sampleTask({ id: String(at), receivedAtMs: at }) : undefined);
          }
        });
        const merged: number[] = [];
        for await (const { receivedAtMs } of mergeOldestFirst(listings)) merged.push(receivedAtMs);
        const all = lists.flat().filter(({ readable }) => readable);
        expect(merged).toEqual([...new Set(all.map(({ at }) => at))].sort((a, b) => a - b));
      }),
    );
  });

  it("are read no further than the one is", async () => {
    let read = 0;
    async function* endless(): AsyncGenerator<StoredTask, void, undefined> {
      for (;;) {
        read += 1;
        yield item(String(read), sampleTask({ id: String(read), receivedAtMs: read }));
      }
    }
    const merged = mergeOldestFirst([endless()]);
    await merged.next();
    await merged.return(undefined);
    expect(read).toBeLessThanOrEqual(2);
  });
});
