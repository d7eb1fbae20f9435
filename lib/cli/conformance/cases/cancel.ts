/** Cases of `cancel_task` for a task that is under way; skipped where the peer answers everything at once. */
import { type CaseRun, type ConformanceCase, Deviation } from "../case.ts";
import { expectError, expectResult } from "../expect.ts";

export const cancelCases: readonly ConformanceCase[] = [
  {
    name: "cancel/running",
    level: "required",
    expects: "cancel_task of a task under way: status canceled with its task_id",
    check: cancel,
  },
  {
    name: "cancel/again",
    level: "required",
    expects: "cancel_task once more: the same answer",
    check: cancel,
  },
  {
    name: "cancel/then-asked",
    level: "required",
    expects: "get_task of a canceled task: canceled, error -32076",
    async check({ peer, slowTasks, newId }) {
      const { result } = await slowTasks.canceled();
      const id = newId();
      const answer = await peer.call({ method: "get_task", params: { task_id: result.task_id }, id });
      return expectError({ answer, reasons: ["canceled"], ids: [id], dialect: peer.dialect });
    },
  },
];

async function cancel({ peer, slowTasks, newId }: CaseRun): Promise<string> {
  const { result: accepted } = await slowTasks.canceled();
  const id = newId();
  const answer = await peer.call({ method: "cancel_task", params: { task_id: accepted.task_id }, id });
  const result = expectResult({ answer, method: "cancel_task", id });
  if (result.task_id !== accepted.task_id) throw new Deviation(answer.came);
  return answer.came;
}
