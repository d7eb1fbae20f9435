/** The record that remains of an erased task, so that a late delivery of its message does not run it again. */
import { maxAgeMs } from "../../../lambdas/verification/task/step.ts";
import type { Task } from "../../../lambdas/verification/task/task.ts";

/** Clocks differ, and a message may be delayed. */
const marginMs = 3600_000;
const noTrace = `00-${"0".repeat(32)}-${"0".repeat(16)}-00`;

/** Makes a record without person, channel and text. Undefined if the worker would refuse the message as too old anyway. */
export function createTombstone({ task, nowMs }: { task: Task; nowMs: number }): Task | undefined {
  const { id, revision, receivedAtMs, wakeSeq } = task;
  const expiresAtMs = receivedAtMs + maxAgeMs + marginMs;
  if (expiresAtMs <= nowMs) return undefined;
  return {
    ...{ id, revision, receivedAtMs, wakeSeq, expiresAtMs },
    state: "done",
    thread: "",
    principal: "",
    attempts: 0,
    history: [],
    trace: { traceparent: noTrace },
    message: { appId: "", team: "", channel: "", user: "", ts: "", direct: false, text: "" },
    cleanupDone: true,
    textsErased: true,
  };
}
