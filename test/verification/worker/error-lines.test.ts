/** What the log says when a task goes wrong: its ids on both sides, what was tried, and why it failed. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "../../../contracts/errors.ts";
import { createLog } from "../../../lambdas/shared/log.ts";
import { sampleAsk } from "../task/sample.ts";
import { createWorld } from "./world.ts";

const ask = sampleAsk();

async function linesOf({ fate, story }: Parameters<typeof createWorld>[0] = {}) {
  const lines: string[] = [];
  const log = createLog({ service: "verification", write: (line) => lines.push(line) });
  const world = createWorld({ log, pollsUntilDone: 2, ...(fate && { fate }), ...(story && { story }) });
  world.deliver(ask);
  await world.run();
  expect(lines.join("")).not.toContain(ask.message.text);
  return lines.map((line) => JSON.parse(line));
}

const ids = { request_id: ask.requestId, task_id: "t-1" };

describe("the log of the worker", () => {
  it("names the task on both sides where a call failed, with the reason", async () => {
    const lines = await linesOf({
      story: () => {
        throw new SekishoError("execution_failed");
      },
    });
    const failed = lines.filter(({ event }) => event === "call_failed");
    expect(failed).toMatchObject([{ message: "task_step", ...ids, reason: "execution_failed" }]);
  });

  it("names the task on both sides where its answer could not be delivered, with what was tried and why not", async () => {
    let accepted = false;
    const lines = await linesOf({
      fate: ({ party, name }) => {
        accepted ||= name === "get_task";
        return party === "slack" && accepted ? "refused" : "ok";
      },
    });
    expect(lines.filter(({ level }) => level === "error")).toMatchObject([
      { message: "answer_not_delivered", ...ids, operation: "deliver", reason: "unavailable" },
    ]);
  });

  it("says of a message that is none of ours why it was refused, and nothing that is in it", async () => {
    const lines: string[] = [];
    const log = createLog({ service: "verification", write: (line) => lines.push(line) });
    const world = createWorld({ log });
    world.queueRaw("the text of nobody");
    await world.buryAll();
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: "error", message: "queue_message_refused", reason: "invalid_request", bytes: 18 },
    ]);
    expect(lines.join("")).not.toContain("nobody");
  });
});
