/** Cases of tasks that the peer does not know. */
import type { ConformanceCase } from "../case.ts";
import { expectError } from "../expect.ts";

export const taskCases: readonly ConformanceCase[] = [
  unknownTask({ method: "get_task", params: {} }),
  unknownTask({ method: "cancel_task", params: {} }),
  unknownTask({ method: "answer_task", params: { text: "yes" } }),
];

function unknownTask({ method, params }: { method: string; params: object }): ConformanceCase {
  return {
    name: `tasks/unknown-${method.replace("_task", "")}`,
    level: "required",
    expects: `${method} of an unknown task: task_not_found, error -32061; or -32601 where there is no such method`,
    async check({ peer, newId }) {
      const id = newId();
      const answer = await peer.call({ method, params: { ...params, task_id: newId() }, id });
      const reasons = ["task_not_found", "method_not_found"] as const;
      return expectError({ answer, reasons, ids: [id], dialect: peer.dialect });
    },
  };
}
