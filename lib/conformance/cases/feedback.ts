/** Cases of votes on an answer. An endpoint without the method `feedback` is not asked about it. */
import { randomUUID } from "node:crypto";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import { eachStep, expectError, expectResult, skipWithoutMethod } from "../expect.ts";
import { expectSuccess, type SentTask } from "../tasks.ts";

const section = "`feedback`";

const up = { vote: "up", voter_id: randomUUID(), voted_at: "2026-11-26T08:00:00.000Z" };
const down = { ...up, vote: "down", voted_at: "2026-11-26T08:00:01.000Z" };

export const feedbackCases: readonly ConformanceCase[] = [
  {
    name: "feedback/unknown",
    level: "required",
    section,
    expects:
      "a vote on tasks that are not known: task_not_found, error -32061; or -32601 where there is no such method",
    advice:
      "Answer with task_not_found (-32061), or with method_not_found where you have no such method.",
    check(run) {
      const keys = [
        { task_id: randomUUID() },
        { task_id: "../../etc/passwd" },
        { request_id: randomUUID() },
      ];
      const steps = keys.map(
        (key) => [`feedback ${JSON.stringify(key)}`, { ...up, ...key }] as const,
      );
      return eachStep(run, steps, async (params) =>
        expectError(await run.peer.call({ method: "feedback", params }), [
          "task_not_found",
          "method_not_found",
        ]),
      );
    },
  },
  {
    name: "feedback/recorded",
    level: "strict",
    section,
    needs: ["ended/success"],
    expects:
      "votes on a completed task, repeated, changed, and one that comes late: status recorded with its task_id",
    advice:
      "Take every vote on a completed task. Keep the latest of each voter_id by voted_at, and answer all alike.",
    async check(run) {
      const { taskId, ...task } = expectSuccess(await run.tasks.slowEnd());
      const byTask = { task_id: taskId };
      const steps: [string, object][] = [
        ["a vote", { ...byTask, ...up }],
        ["the same vote again", { ...byTask, ...up }],
        ["another vote, by request_id", { request_id: task.requestId, ...down }],
        ["the first vote, late", { ...byTask, ...up }],
        ["a vote of another person", { ...byTask, ...up, voter_id: randomUUID() }],
      ];
      return eachStep(run, steps, async (params) => {
        const answer = await send(run, task, params);
        if (expectResult(answer, "feedback").task_id !== taskId) throw new Deviation(answer.came);
        return answer.came;
      });
    },
  },
  {
    name: "feedback/canceled",
    level: "strict",
    section,
    needs: ["cancel/running"],
    expects: "a vote on a canceled task: invalid_state, error -32063",
    advice: "Only a completed task has an answer to vote on.",
    async check(run) {
      const task = await run.tasks.toCancel();
      return expectError(await send(run, task, { task_id: task.taskId, ...up }), ["invalid_state"]);
    },
  },
  {
    name: "feedback/bad-params",
    level: "strict",
    section,
    expects:
      "a vote that is neither up nor down, one of nobody, one without a time, and one on two tasks: error -32602",
    advice: "Check the params before you look for the task.",
    check(run) {
      const task_id = randomUUID();
      const steps: [string, object][] = [
        ["another vote", { ...up, task_id, vote: "sideways" }],
        ["no voter_id", { ...up, task_id, voter_id: undefined }],
        ["no voted_at", { ...up, task_id, voted_at: undefined }],
        ["task_id and request_id", { ...up, task_id, request_id: task_id }],
      ];
      return eachStep(run, steps, async (params) => {
        const answer = await run.peer.call({ method: "feedback", params });
        skipWithoutMethod(answer, "feedback");
        return expectError(answer, ["invalid_params"]);
      });
    },
  },
  {
    name: "isolation/another-caller-votes",
    level: "required",
    section: "Transport",
    needs: ["ended/success"],
    expects: "a vote on a task, by another caller: task_not_found, error -32061",
    advice:
      "A task belongs to the caller that sent it. Look it up by the caller and the id together.",
    async check(run) {
      if (!run.peer.callers.has("another"))
        throw new NotApplicable("there is no second caller (--other-auth)");
      const { taskId, requestId, sessionId } = await run.tasks.slowEnd();
      const steps: [string, object][] = [
        ["by task_id", { task_id: taskId }],
        ["by request_id", { request_id: requestId }],
      ];
      return eachStep(run, steps, async (key) => {
        const answer = await run.peer.call({
          method: "feedback",
          params: { ...key, ...up },
          sessionId,
          as: "another",
        });
        return expectError(answer, ["task_not_found", "method_not_found"]);
      });
    },
  },
];

async function send(run: CaseRun, { sessionId }: Pick<SentTask, "sessionId">, params: object) {
  const answer = await run.peer.call({ method: "feedback", params, sessionId });
  skipWithoutMethod(answer, "feedback");
  return answer;
}
