/** Cases of tasks that go on in the background; skipped where the peer answers everything at once. */
import { maxPartialTextLength } from "../../../../contracts/limits.ts";
import type { AcceptedTask } from "../case.ts";
import { type CaseRun, type ConformanceCase, Deviation, NotApplicable } from "../case.ts";
import { expectError, expectResult, readPeerError } from "../expect.ts";
import type { PeerAnswer } from "../peer-answer.ts";
import { followTask } from "../run-task.ts";

/** Short: whether the peer holds the answer is its own affair. */
const waitMs = 100;
/** Longer: a peer that knows long polls answers when there is something to tell. */
const progressWaitMs = 1000;

export const acceptedCases: readonly ConformanceCase[] = [
  {
    name: "accepted/in-time",
    level: "required",
    expects: "a slow task: a result, or timeout, error -32001, within the time that a call is given",
    check: expectInTime,
  },
  {
    name: "accepted/result",
    level: "required",
    expects: "a slow task: status accepted with a task_id",
    check: async ({ slowTasks }) => (await slowTasks.awaited()).came,
  },
  {
    name: "accepted/by-task-id",
    level: "required",
    expects: "get_task by task_id: the same task, accepted until it is over",
    check: (run) => askForTask({ run, key: (task) => ({ task_id: task.result.task_id }) }),
  },
  {
    name: "accepted/by-request-id",
    level: "required",
    expects: "get_task by request_id, for an accepted that was lost: the same task",
    check: (run) => askForTask({ run, key: (task) => ({ request_id: task.requestId }) }),
  },
  {
    name: "accepted/long-poll",
    level: "optional",
    expects: "get_task with wait_ms: the same task, at once or when something changes",
    check: (run) => askForTask({ run, key: (task) => ({ task_id: task.result.task_id, wait_ms: waitMs }) }),
  },
  {
    name: "accepted/partial-text",
    level: "optional",
    expects: "partial_text in the progress of a slow task: a text of at most 12,000 characters",
    check: partialText,
  },
  {
    name: "accepted/no-key",
    level: "optional",
    expects: "get_task with neither task_id nor request_id: error -32602",
    async check({ peer, slowTasks, newId }) {
      await slowTasks.awaited();
      const id = newId();
      const answer = await peer.call({ method: "get_task", params: {}, id });
      return expectError({ answer, reasons: ["invalid_params"], ids: [id], dialect: peer.dialect });
    },
  },
];

/** These wait for the end of the task, so they come after those of `cancel_task`, which need one that is under way. */
export const completedTaskCases: readonly ConformanceCase[] = [
  {
    name: "ended/success",
    level: "required",
    expects: "a slow task polled to its end: status success",
    check: async (run) => (await readTaskEnd(run)).came,
  },
  {
    name: "ended/stays",
    level: "required",
    expects: "a task that is over, asked again by both ids: the same result",
    async check(run) {
      const { peer, newId } = run;
      const end = await readTaskEnd(run);
      for (const key of [{ task_id: end.taskId }, { request_id: end.requestId }]) {
        const id = newId();
        const answer = await peer.call({ method: "get_task", params: key, id });
        const again = expectResult({ answer, method: "get_task", id });
        if (JSON.stringify(again) !== JSON.stringify(end.result)) throw new Deviation(answer.came);
      }
      return end.came;
    },
  },
  {
    name: "ended/cancel",
    level: "required",
    expects: "cancel_task of a task that is over: invalid_state, error -32063",
    async check(run) {
      const { peer, newId } = run;
      const { taskId } = await readTaskEnd(run);
      const id = newId();
      const answer = await peer.call({ method: "cancel_task", params: { task_id: taskId }, id });
      return expectError({ answer, reasons: ["invalid_state"], ids: [id], dialect: peer.dialect });
    },
  },
];

/**
 * Who answers everything at once may give up in time, if it says so. Any other error shows nothing of slow tasks, as
 * when `--text` fails: the cases after this one are skipped then, so it is this one that must not pass.
 */
async function expectInTime({ peer: { dialect }, slowTasks }: CaseRun): Promise<string> {
  const { answer, requestId } = await slowTasks.first();
  if (answer.response === undefined) throw new Deviation(answer.came);
  if (readPeerError(answer) === undefined) return answer.came;
  return expectError({ answer, reasons: ["timeout"], ids: [requestId], dialect });
}

async function askForTask({
  run: { peer, slowTasks, newId },
  key,
}: {
  run: CaseRun;
  key: (task: AcceptedTask) => Readonly<Record<string, unknown>>;
}): Promise<string> {
  const task = await slowTasks.awaited();
  const id = newId();
  const answer = await peer.call({ method: "get_task", params: key(task), id });
  return expectSameTask({ answer, id, taskId: task.result.task_id });
}

/** Only judged where the peer tells any. What does not fit the contract is passed over by its readers, so it is looked at as it came. */
async function partialText({ peer, slowTasks, newId }: CaseRun): Promise<string> {
  const { result } = await slowTasks.awaited();
  const params = { task_id: result.task_id, wait_ms: progressWaitMs };
  const { response, came } = await peer.call({ method: "get_task", params, id: newId() });
  const { partial_text: text } = Object(Object(response && "result" in response && response.result).progress);
  if (text === undefined) throw new NotApplicable("nothing of the answer was told before its end");
  if (typeof text !== "string" || text.length > maxPartialTextLength) throw new Deviation(came);
  return came;
}

/** The same task: it says so while it is under way, and may be over by now. */
export function expectSameTask({ answer, id, taskId }: { answer: PeerAnswer; id: string; taskId: string }): string {
  const result = expectResult({ answer, method: "get_task", id });
  if (result.status !== "success" && result.task_id !== taskId) {
    throw new Deviation(`${answer.came}; the task was accepted as ${taskId}`);
  }
  return answer.came;
}

/** Asking for the end again costs one call. */
async function readTaskEnd(run: CaseRun) {
  const { requestId, result: accepted } = await run.slowTasks.awaited();
  const { answer, id } = await followTask({ run, taskId: accepted.task_id, afterMs: accepted.poll_after_ms });
  const result = expectResult({ answer, method: "get_task", id });
  if (result.status !== "success") throw new Deviation(answer.came);
  return { requestId, taskId: accepted.task_id, result, came: answer.came };
}
