/** An agent that leaves errors which nothing catches. All tasks share one process, and each ends when the errors have happened. */
import { EventEmitter } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentContext, AgentTask, TaskUpdate } from "@sekisho/execution/agents/agent.ts";

const secret = "xoxb-secret-in-a-message";
const steadyTask = Promise.withResolvers<void>();
const errorsLeft = Promise.withResolvers<void>();

/** `steady` begins before the errors and ends after them. `careless` leaves them. `canceled` waits for its signal. */
export async function* agent(
  { text }: AgentTask,
  { signal }: AgentContext,
): AsyncGenerator<TaskUpdate> {
  if (text === "steady") {
    steadyTask.resolve();
    await errorsLeft.promise;
  }
  if (text === "careless") {
    await steadyTask.promise;
    await leaveErrors();
    errorsLeft.resolve();
  }
  if (text === "canceled") {
    yield { type: "progress", text: "waiting" };
    void new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason)),
    );
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  }
  yield { type: "answer", text: `${text}: done` };
}

async function leaveErrors(): Promise<void> {
  void Promise.reject();
  setTimeout(() => {
    throw new RangeError(secret);
  });
  const emitter = new EventEmitter();
  setTimeout(() => emitter.emit("error", new TypeError(secret)));
  await sleep(20);
}
