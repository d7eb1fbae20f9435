/** Records that come back from a backup: what docs/operations.md, "Restore a table", says of tasks that were under way. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { queueMessageSchema } from "../../../lambdas/verification/task/messages.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";
import { sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

const ask = sampleAsk();
const longest = 11;

function recordIn(world: ReturnType<typeof createWorld>): Task {
  const record = world.records.get(ask.requestId);
  if (record === undefined) throw new Error("There is no record yet.");
  return structuredClone(record);
}

/** A task that has taken so many steps, with its record at that moment. */
async function taskAfter(steps: number, settings: Parameters<typeof createWorld>[0] = {}) {
  const world = createWorld({ pollsUntilDone: 3, ...settings });
  world.deliver(ask);
  await world.run({ maxSteps: steps });
  return { world, record: recordIn(world) };
}

describe("a record that is lost and restored as it was", () => {
  it("goes on with a redrive where its wake-up was dropped, to one answer from one run", async () => {
    for (let steps = 1; steps < longest; steps++) {
      const { world, record } = await taskAfter(steps);
      world.records.delete(ask.requestId);
      await world.run();
      expect(world.records.has(ask.requestId)).toBe(false);
      world.records.set(ask.requestId, record);
      world.redrive(ask.requestId);
      await world.run();
      expect({ steps, answers: world.answers() }).toEqual({ steps, answers: ["A checkpoint."] });
      expect(world.posts).toHaveLength(1);
      expect(world.starts).toHaveLength(1);
    }
  });
});

describe("the message that docs/operations.md shows", () => {
  it("is a redrive", () => {
    const page = readFileSync(join(__dirname, "../../../docs/operations.md"), "utf8");
    const [, body = ""] = /aws sqs send-message .*--message-body '(.+)'/.exec(page) ?? [];
    const message = queueMessageSchema.parse(JSON.parse(body.replace("REQUEST_ID", ask.requestId)));
    expect(message).toEqual({ type: "redrive", requestId: ask.requestId });
  });
});

describe("a record that is restored as it was earlier, after its answer", () => {
  const story = () => ({ status: "success", response_text: "one|two" }) as const;

  it("leaves one post of each part after the cleanup, in any order, and runs nothing again at a host that deduplicates", async () => {
    for (let steps = 1; steps < longest; steps++) {
      const { world, record } = await taskAfter(steps, { story });
      await world.run();
      world.records.set(ask.requestId, record);
      world.redrive(ask.requestId);
      await world.run();
      expect({ steps, answers: [...world.answers()].sort() }).toEqual({ steps, answers: ["one", "two"] });
      expect(world.starts).toHaveLength(1);
    }
  });

  it("of a task that had not been sent runs its agent again at a host that does not deduplicate", async () => {
    const { world, record } = await taskAfter(1, { story, idempotent: false });
    expect(record.state).toBe("announced");
    await world.run();
    world.records.set(ask.requestId, record);
    world.redrive(ask.requestId);
    await world.run();
    expect(world.starts).toHaveLength(2);
  });
});
