/** One task of a case: executed, and polled where it was accepted, until its last answer. */
import type { TaskResult } from "../../../contracts/methods.ts";
import { type CaseRun, Deviation } from "./case.ts";
import { expectResult } from "./expect.ts";
import type { PeerAnswer } from "./peer-answer.ts";

/** A task that is not over by then is no answer for a case. */
const maxPolls = 120;
const pollAfterMs = { default: 1000, least: 50, most: 2000 };

/** The channel of every task; a peer that looks at channels sees where they come from. */
export const channel = "C0CONFORMANCE";

type Run = Pick<CaseRun, "peer" | "newId" | "sleep">;

/** The last answer, which may be an error. Throws a Deviation where the task does not end. */
export async function runTask({
  run,
  params,
  id,
}: {
  run: Run;
  params: Readonly<Record<string, unknown>>;
  id: string;
}): Promise<{ answer: PeerAnswer; id: string }> {
  const answer = await run.peer.call({ method: "execute_task", params: { channel, ...params }, id });
  const first = acceptedIn(answer);
  return first === undefined
    ? { answer, id }
    : followTask({ run, taskId: first.task_id, afterMs: first.poll_after_ms });
}

/** Polls an accepted task to its end. */
export async function followTask({
  run: { peer, newId, sleep },
  taskId,
  afterMs,
}: {
  run: Run;
  taskId: string;
  afterMs?: number | undefined;
}): Promise<{ answer: PeerAnswer; id: string }> {
  let waitMs = afterMs;
  for (let poll = 0; poll < maxPolls; poll++) {
    await sleep(Math.max(pollAfterMs.least, Math.min(waitMs ?? pollAfterMs.default, pollAfterMs.most)));
    const id = newId();
    const answer = await peer.call({ method: "get_task", params: { task_id: taskId }, id });
    const result = acceptedIn(answer);
    if (result === undefined) return { answer, id };
    waitMs = result.poll_after_ms;
  }
  throw new Deviation(`the task that was accepted as ${taskId} had no end after ${maxPolls} polls`);
}

/** The success of a task with these params; what came, beside it. */
export async function expectSuccess(request: {
  run: Run;
  params: Readonly<Record<string, unknown>>;
  id: string;
}): Promise<{ result: Extract<TaskResult, { status: "success" }>; came: string }> {
  const { answer, id } = await runTask(request);
  const result = expectResult({ answer, method: "execute_task", id });
  if (result.status !== "success") throw new Deviation(answer.came);
  return { result, came: answer.came };
}

function acceptedIn(answer: PeerAnswer) {
  const { response } = answer;
  if (response === undefined || "error" in response || response.id === null) return undefined;
  const { id } = response;
  if (typeof Object(response.result) !== "object" || Object(response.result).status !== "accepted") return undefined;
  const result = expectResult({ answer, method: "execute_task", id });
  return result.status === "accepted" ? result : undefined;
}
