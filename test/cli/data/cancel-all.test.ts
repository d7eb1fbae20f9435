/** Canceling what is under way before it is deleted. */
import { expect, it } from "@jest/globals";
import { cancelAll } from "../../../lib/cli/data/cancel-all.ts";

const signal = new AbortController().signal;
const tasks = ["a", "b"].map((id) => ({ id, revision: 1, isUnderWay: true, receivedAtMs: 1, lastAtMs: 1 }));

async function cancelWith(left: number[]) {
  const sent: string[] = [];
  const isOver = await cancelAll({
    ...{ tasks, team: "T1", signal, pollMs: 1, waitMs: 3 },
    queue: { send: async ({ body, group }) => void sent.push(`${group} ${body}`) },
    stillUnderWay: async () => left.shift() ?? 1,
  });
  return { isOver, sent };
}

it("asks each task to end, and waits until the last one has", async () => {
  const { isOver, sent } = await cancelWith([2, 1, 0]);
  expect(isOver).toBe(true);
  expect(sent).toEqual(['T1 {"type":"cancel","requestId":"a"}', 'T1 {"type":"cancel","requestId":"b"}']);
});

it("says that it is not over where nobody is at work", async () => {
  expect((await cancelWith([])).isOver).toBe(false);
});
