/** Cases of questions that several people must answer alike, which an agent may ask or not. */
import type { ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import { expectError, expectResult, skipWithoutMethod } from "../expect.ts";
import { newSlackId } from "../tasks.ts";
import { readTask, reply } from "./questions.ts";

export const approvalCases: readonly ConformanceCase[] = [
  {
    name: "question/approvals",
    level: "strict",
    section: "`answer_task`",
    needs: ["question/asks"],
    expects:
      "a text at which the agent asks with approvals: one person, one person twice, and words are invalid_params, error -32602, and the question stays open; all in approved_by: a result as of get_task",
    advice:
      "Accept an option of a question with approvals only with so many different people in approved_by, the last one of them in user_id.",
    async check(run) {
      const task = await run.tasks.askingForApprovals();
      const { approvals = 1, options = [] } = task.question;
      const option = options.find(({ style }) => style !== "danger");
      if (approvals < 2 || option === undefined)
        throw new NotApplicable(
          `the question needs no approvals (--approval-text): ${task.last.came}`,
        );
      const people = Array.from({ length: approvals }, () => newSlackId("U"));
      const [last = ""] = people.slice(-1);
      const chosen = { option_id: option.id, user_id: last };
      const incomplete: [what: string, answer: object][] = [
        ["one person", chosen],
        ["one person twice", { ...chosen, approved_by: people.map(() => last) }],
        ["words", { text: "yes", user_id: last, approved_by: people }],
      ];
      for (const [what, answer] of incomplete) {
        run.step(what);
        const refused = await reply(run, task, answer);
        skipWithoutMethod(refused, "answer_task");
        expectError(refused, ["invalid_params"]);
      }
      run.step("get_task");
      const open = await readTask(run, task);
      if (expectResult(open, "get_task").status !== "input_required")
        throw new Deviation(open.came);
      run.step("all people");
      const answer = await reply(run, task, { ...chosen, approved_by: people });
      expectResult(answer, "answer_task");
      return answer.came;
    },
  },
];
