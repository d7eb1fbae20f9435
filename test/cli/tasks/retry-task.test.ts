import { expect, it } from "@jest/globals";
import { sendRetry } from "../../../lib/cli/tasks/retry-task.ts";
import { sampleTask } from "../../verification/task/sample.ts";

it.each([
  ["kept where all are", () => 1, /-01$/],
  ["not kept where none is", () => 0, /-00$/],
  ["kept where the place says nothing", undefined, /-01$/],
])("a retry is a new trace, %s", async (_, sampleRatio, flag) => {
  const sent: string[] = [];
  const queue = { send: async ({ body }: { body: string }) => void sent.push(body) };
  const place = { store: { get: async () => undefined }, queue, ...(sampleRatio && { sampleRatio }) };
  const task = sampleTask({ state: "done" });
  await sendRetry({ place, task });
  const { trace } = JSON.parse(sent[0] ?? "");
  expect(trace.traceparent).toMatch(flag);
  expect(trace.traceparent).not.toContain(task.trace.traceparent.slice(3, 35));
});
