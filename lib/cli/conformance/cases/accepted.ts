/** Cases of tasks that go on after `accepted`. Skipped where the peer answers everything at once, or the agent asks nothing. */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { maxPartialTextLength } from "../../../../contracts/limits.ts";
import type { TaskResult } from "../../../../contracts/methods.ts";
import {
  type AcceptedTask,
  type CaseRun,
  type ConformanceCase,
  Deviation,
  NotApplicable,
  optional,
  required,
} from "../case.ts";
import { expectError, expectResult, readPeerError } from "../expect.ts";
import type { PeerAnswer } from "../peer.ts";
import { followTask, runTask } from "../run-task.ts";

export const taskCases: readonly ConformanceCase[] = [
  unknownTask("get_task", {}),
  unknownTask("cancel_task", {}),
  unknownTask("answer_task", { text: "yes" }),
];

function unknownTask(method: string, params: object): ConformanceCase {
  return required(
    `tasks/unknown-${method.replace("_task", "")}`,
    `${method} of an unknown task: task_not_found, error -32061; or -32601 where there is no such method`,
    async ({ peer }) => {
      const answer = await peer.call({ method, params: { ...params, task_id: randomUUID() } });
      return expectError(answer, ["task_not_found", "method_not_found"]);
    },
  );
}

export const questionCases: readonly ConformanceCase[] = [
  required(
    "tasks/question",
    "answer_task of a task that asks: a result as of get_task, and the same for the same answer again",
    async (run) => answerTwice(run, (await startQuestion(run)).question),
  ),
  required(
    "tasks/question-id",
    "a question with a question_id: an answer to another one, and another answer to this one, are invalid_state, error -32063",
    async (run) => {
      const { question, came } = await startQuestion(run);
      const { task_id, question_id } = question;
      // A peer need not name its questions.
      if (question_id === undefined) throw new NotApplicable(`the question has no question_id: ${came}`);
      expectError(await reply(run, { ...question, question_id: randomUUID() }), ["invalid_state"]);
      const answer = await run.peer.call({ method: "get_task", params: { task_id } });
      const still = expectResult(answer, "get_task");
      if (still.status !== "input_required" || still.question_id !== question_id) throw new Deviation(answer.came);
      await answerTwice(run, question);
      return expectError(await reply(run, question, { text: "something else altogether" }), ["invalid_state"]);
    },
  ),
];

type Question = Extract<TaskResult, { status: "input_required" }>;

async function startQuestion(run: CaseRun): Promise<{ question: Question; came: string }> {
  const text = run.texts.ask;
  const answer = await runTask(run, { text });
  const question = expectResult(answer, "get_task");
  if (question.status === "input_required") return { question, came: answer.came };
  throw new NotApplicable(`the agent did not ask anything at ${JSON.stringify(text)} (--ask-text): ${answer.came}`);
}

async function answerTwice(run: CaseRun, question: Question): Promise<string> {
  const answers = [await reply(run, question), await reply(run, question)] as const;
  const [first, again] = [expectResult(answers[0], "answer_task"), expectResult(answers[1], "answer_task")];
  // An accepted task may have gone on in between.
  const isSame =
    first.status === "accepted"
      ? again.status === "success" || again.task_id === first.task_id
      : isDeepStrictEqual(first, again);
  if (!isSame) throw new Deviation(`first ${answers[0].came}; then ${answers[1].came}`);
  return answers[0].came;
}

/** Chooses the first option, or answers yes. */
function reply({ peer }: CaseRun, { task_id, question_id, options: [option] = [] }: Question, given?: object) {
  const usual = option === undefined ? { text: "yes" } : { option_id: option.id };
  const params = { task_id, ...(given ?? usual), ...(question_id !== undefined && { question_id }) };
  return peer.call({ method: "answer_task", params });
}

export const acceptedCases: readonly ConformanceCase[] = [
  required(
    "accepted/in-time",
    "a slow task: a result, or timeout, error -32001, within the time that a call is given",
    /**
     * A peer that answers everything at once may give up in time, if it says so. Any other error says nothing about slow tasks, as
     * when the agent fails at `--slow-text`. The cases after this one are skipped then, so this one must fail.
     */
    async ({ slowTasks }) => {
      const { answer } = await slowTasks.first();
      if (answer.response === undefined) throw new Deviation(answer.came);
      return readPeerError(answer) === undefined ? answer.came : expectError(answer, ["timeout"]);
    },
  ),
  required(
    "accepted/result",
    "a slow task: status accepted with a task_id",
    async ({ slowTasks }) => (await slowTasks.awaited()).answer.came,
  ),
  required("accepted/by-task-id", "get_task by task_id: the same task, accepted until it is over", (run) =>
    getTask(run, ({ result: { task_id } }) => ({ task_id })),
  ),
  required("accepted/by-request-id", "get_task by request_id, for an accepted that was lost: the same task", (run) =>
    getTask(run, ({ requestId }) => ({ request_id: requestId })),
  ),
  optional(
    "accepted/long-poll",
    "get_task with wait_ms: the same task, at once or when something changes",
    // The peer decides whether it holds the answer, so the time is short.
    (run) => getTask(run, ({ result: { task_id } }) => ({ task_id, wait_ms: 100 })),
  ),
  optional(
    "accepted/partial-text",
    "partial_text in the progress of a slow task: a text of at most 12,000 characters",
    async ({ peer, slowTasks }) => {
      const { task_id } = (await slowTasks.awaited()).result;
      // A peer that knows long polls answers within this time, when there is progress.
      const { response, came } = await peer.call({ method: "get_task", params: { task_id, wait_ms: 1000 } });
      // The contract's reader ignores a malformed text, so the raw answer is checked.
      const { partial_text: text } = Object(Object(response && "result" in response && response.result).progress);
      if (text === undefined) throw new NotApplicable("no part of the answer came before its end");
      if (typeof text !== "string" || text.length > maxPartialTextLength) throw new Deviation(came);
      return came;
    },
  ),
  optional(
    "accepted/no-key",
    "get_task with neither task_id nor request_id: error -32602",
    async ({ peer, slowTasks }) => {
      await slowTasks.awaited();
      return expectError(await peer.call({ method: "get_task", params: {} }), ["invalid_params"]);
    },
  ),
];

async function getTask({ peer, slowTasks }: CaseRun, key: (task: AcceptedTask) => object): Promise<string> {
  const task = await slowTasks.awaited();
  return expectSameTask(await peer.call({ method: "get_task", params: key(task) }), task.result.task_id);
}

/** A task under way names its id. A task that has ended by now need not. */
export function expectSameTask(answer: PeerAnswer, taskId: string): string {
  const result = expectResult(answer, "get_task");
  if (result.status === "success" || result.task_id === taskId) return answer.came;
  throw new Deviation(`${answer.came}; the task was accepted as ${taskId}`);
}

export const cancelCases: readonly ConformanceCase[] = [
  required("cancel/running", "cancel_task of a task under way: status canceled with its task_id", cancel),
  required("cancel/again", "cancel_task once more: the same answer", cancel),
  required("cancel/then-asked", "get_task of a canceled task: canceled, error -32076", async ({ peer, slowTasks }) => {
    const { task_id } = (await slowTasks.canceled()).result;
    return expectError(await peer.call({ method: "get_task", params: { task_id } }), ["canceled"]);
  }),
];

async function cancel({ peer, slowTasks }: CaseRun): Promise<string> {
  const { task_id } = (await slowTasks.canceled()).result;
  const answer = await peer.call({ method: "cancel_task", params: { task_id } });
  if (expectResult(answer, "cancel_task").task_id !== task_id) throw new Deviation(answer.came);
  return answer.came;
}

/** These wait for the task's end, so they run after the cases of `cancel_task`, which need a task under way. */
export const completedTaskCases: readonly ConformanceCase[] = [
  required(
    "ended/success",
    "a slow task polled to its end: status success",
    async (run) => (await readTaskEnd(run)).came,
  ),
  required("ended/stays", "a task that is over, asked again by both ids: the same result", async (run) => {
    const { taskId, requestId, result, came } = await readTaskEnd(run);
    for (const params of [{ task_id: taskId }, { request_id: requestId }]) {
      const answer = await run.peer.call({ method: "get_task", params });
      const again = expectResult(answer, "get_task");
      if (JSON.stringify(again) !== JSON.stringify(result)) throw new Deviation(answer.came);
    }
    return came;
  }),
  required("ended/cancel", "cancel_task of a task that is over: invalid_state, error -32063", async (run) => {
    const { taskId } = await readTaskEnd(run);
    const answer = await run.peer.call({ method: "cancel_task", params: { task_id: taskId } });
    return expectError(answer, ["invalid_state"]);
  }),
];

async function readTaskEnd(run: CaseRun) {
  const { requestId, result: accepted } = await run.slowTasks.awaited();
  const answer = await followTask(run, accepted);
  const result = expectResult(answer, "get_task");
  if (result.status !== "success") throw new Deviation(answer.came);
  return { requestId, taskId: accepted.task_id, result, came: answer.came };
}
