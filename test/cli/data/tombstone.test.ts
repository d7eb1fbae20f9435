/** What stays of a task that is erased, and what a late delivery of its message comes to. */
import { expect, it } from "@jest/globals";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { createTombstone } from "../../../lib/cli/data/tombstone.ts";
import { sampleAsk } from "../../verification/task/sample.ts";
import { createWorld } from "../../verification/worker/world.ts";

const hourMs = 3600_000;

async function finished() {
  const world = createWorld();
  const ask = sampleAsk();
  world.deliver(ask);
  await world.run();
  const task = world.records.get(ask.requestId);
  if (task?.state !== "done" || !task.cleanupDone) throw new Error("the task is over by now");
  return { world, ask, task };
}

it("names nobody, no place and no text, and is a task's record all the same", async () => {
  const { task, ask } = await finished();
  const left = createTombstone({ task, nowMs: task.receivedAtMs + hourMs });
  expect(taskSchema.parse(left)).toEqual(left);
  const { team, user, channel, ts, text } = ask.message;
  for (const word of [team, user, channel, ts, text, task.call?.destination ?? "host"]) {
    expect(JSON.stringify(left)).not.toContain(`"${word}"`);
  }
});

it("keeps a message that is delivered once more from being executed again, for as long as one could be", async () => {
  const { world, ask, task } = await finished();
  const left = createTombstone({ task, nowMs: world.now() });
  if (left === undefined) throw new Error("the message is young");
  world.records.set(left.id, left);
  const [posts, calls] = [world.posts.length, world.calls()];
  world.deliver(ask);
  world.redrive(ask.requestId);
  world.cancel(ask.requestId);
  await world.run();
  expect({ posts: world.posts.length, calls: world.calls() }).toEqual({ posts, calls });
  expect(left.expiresAtMs - task.receivedAtMs).toBeGreaterThan(24 * hourMs);
  expect(createTombstone({ task, nowMs: left.expiresAtMs })).toBeUndefined();
});
