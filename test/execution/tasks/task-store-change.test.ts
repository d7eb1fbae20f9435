/** Many writers of one record: each change is made, on top of the others. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "@jest/globals";
import { createChangeTask, createTaskSignal } from "../../../lambdas/execution/tasks/task-store.ts";
import { recordOf } from "../a2a/records.ts";
import { memoryStore } from "../test-host.ts";

it("sixty writers at once all make their change, and none is told that the store is away", async () => {
  const store = memoryStore();
  const task = recordOf({ expiresAtMs: Date.now() + 60_000, queuedAtMs: 0 });
  await store.create({ item: task });
  const replace: typeof store.replace = async (request) => {
    await sleep(1);
    return store.replace(request);
  };
  const changeTask = createChangeTask({
    store: { ...store, replace },
    changeSignal: createTaskSignal(),
    now: Date.now,
  });
  const change = (each: typeof task) => ({ ...each, queuedAtMs: (each.queuedAtMs ?? 0) + 1 });
  await Promise.all(Array.from({ length: 60 }, () => changeTask({ task, change })));
  expect((await store.get({ id: task.id }))?.queuedAtMs).toBe(60);
});
