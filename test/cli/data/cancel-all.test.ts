/** Canceling the tasks of a person before their data is deleted. */
import { expect, it } from "@jest/globals";
import { createMemoryTaskStore } from "../../../lambdas/shared/engine/memory/task-store.ts";
import { cancelAll } from "../../../lib/cli/data/cancel-all.ts";
import { parseRecord } from "../../../lib/cli/data/person.ts";
import { sampleTask } from "../../verification/task/sample.ts";

const ids = [1, 2].map((number) => `0000000${number}-0000-5000-8000-000000000000`);

/** A zone that ends a task for each read of the first one, if it is at work. */
async function cancelIn({ isAtWork }: { isAtWork: boolean }) {
  const sent: string[] = [];
  const store = createMemoryTaskStore({ parse: parseRecord });
  const common = { receivedAtMs: Date.now(), expiresAtMs: Date.now() + 60_000 };
  for (const id of ids) await store.create({ item: sampleTask({ id, state: "waiting", ...common }) });
  async function get({ id }: { id: string }) {
    const record = await store.get({ id });
    const ended = record && { ...record, state: "done", cleanupDone: true };
    if (isAtWork && ended !== undefined) await store.replace({ item: ended });
    return record;
  }
  const isOver = await cancelAll({
    ...{ ids, team: "T1", signal: new AbortController().signal, pollMs: 1, waitMs: 10 },
    place: { store: { get }, queue: { send: async ({ body, group }) => void sent.push(`${group} ${body}`) } },
  });
  return { isOver, sent };
}

it("asks each task to end, and waits until the last one has", async () => {
  const { isOver, sent } = await cancelIn({ isAtWork: true });
  expect(isOver).toBe(true);
  expect(sent).toEqual(ids.map((requestId) => `T1 ${JSON.stringify({ type: "cancel", requestId })}`));
});

it("says that it is not over where nobody is at work", async () => {
  expect((await cancelIn({ isAtWork: false })).isOver).toBe(false);
});
