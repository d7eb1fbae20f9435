/** Cases of tasks that the peer does not know, and of the question that a task may ask. */
import { isDeepStrictEqual } from "node:util";
import type { TaskResult } from "../../../contracts/methods.ts";
import { type CaseRun, type ConformanceCase, Deviation, NotApplicable } from "../case.ts";
import { expectError, resultOf } from "../expect.ts";
import { runTask } from "../run-task.ts";

export const taskCases: readonly ConformanceCase[] = [
  unknownTask({ method: "get_task", params: {} }),
  unknownTask({ method: "cancel_task", params: {} }),
  unknownTask({ method: "answer_task", params: { text: "yes" } }),
  {
    name: "tasks/question",
    level: "required",
    expects: "answer_task of a task that asks: a result as of get_task, and the same for the same answer again",
    check: question,
  },
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

type Question = Extract<TaskResult, { status: "input_required" }>;

async function question(run: CaseRun): Promise<string> {
  const { texts, newId } = run;
  const { answer, id } = await runTask({ run, params: { text: texts.ask }, id: newId() });
  const asked = resultOf({ answer, method: "get_task", id });
  if (asked.status !== "input_required") {
    throw new NotApplicable(
      `the agent did not ask anything at ${JSON.stringify(texts.ask)} (--ask-text): ${answer.came}`,
    );
  }
  const first = await reply({ run, asked });
  const again = await reply({ run, asked });
  if (!mayFollow(first.result, again.result)) throw new Deviation(`first ${first.came}; then ${again.came}`);
  return first.came;
}

/** The same result, or what has become of the task meanwhile. */
function mayFollow(first: TaskResult, again: TaskResult): boolean {
  if (first.status !== "accepted") return isDeepStrictEqual(first, again);
  return again.status === "success" || again.task_id === first.task_id;
}

/** The first option, or yes. */
async function reply({ run: { peer, newId }, asked }: { run: CaseRun; asked: Question }) {
  const [option] = asked.options ?? [];
  const id = newId();
  const params = { task_id: asked.task_id, ...(option === undefined ? { text: "yes" } : { option_id: option.id }) };
  const answer = await peer.call({ method: "answer_task", params, id });
  return { result: resultOf({ answer, method: "answer_task", id }), came: answer.came };
}
