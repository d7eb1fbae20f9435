/** The wish to cancel a task that a worker is acting on: the host is asked at once, and the call under way brings home what comes of it. */
import type { Task } from "../task/task.ts";
import type { RunAct } from "./acts.ts";

/** Whether the wish has reached the host. Where nothing was sent yet, or the host cannot be asked, it has not. */
export async function cancelUnderWay({
  runAct,
  task,
  signal,
}: {
  runAct: RunAct;
  task: Task;
  signal: AbortSignal;
}): Promise<boolean> {
  if (task.state !== "sent" && task.state !== "waiting") return false;
  const event = await runAct({ act: { type: "cancel" }, task: { ...task, ending: "asked" }, signal });
  return event.type === "canceled" || (event.type === "call_failed" && event.error.reason === "invalid_state");
}
