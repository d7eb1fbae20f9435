/** The memory store against the suite that every engine must pass. */
import { describe, it } from "@jest/globals";
import { createMemoryTaskStore } from "../../../lambdas/shared/engine/memory/task-store.ts";
import { createVirtualClock } from "../../conformance/clock.ts";
import { taskStoreCases } from "../../conformance/task-store.ts";
import type { SampleItem } from "../../conformance/task-store-case.ts";

describe("the memory task store", () => {
  it.each(taskStoreCases)("$name", async ({ run }) => {
    const clock = createVirtualClock();
    const store = createMemoryTaskStore({ parse: (json) => json as SampleItem, now: clock.nowMs });
    // It lives in one process: a second client has the same object.
    await run({ store, openAgain: async () => store, clock });
  });
});
