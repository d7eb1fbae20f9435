/** Cases of tasks that are not known, and of tasks that ask. */
import { randomUUID } from "node:crypto";
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import {
  comparable,
  eachStep,
  expectError,
  expectResult,
  hasReason,
  readPeerError,
  readPeerResult,
  skipWithoutMethod,
} from "../expect.ts";
import type { PeerAnswer } from "../peer.ts";
import { type AskingTask, followTask, newSlackId, type Question } from "../tasks.ts";
import { expectWhole } from "./execute.ts";

const unknownAdvice =
  "Answer with task_not_found (-32061), or with method_not_found where you have no such method.";

/** Ids as attackers send them. The last one is as long as an id may be. */
const unknownIds = [
  randomUUID(),
  "../../etc/passwd",
  "' OR '1'='1",
  "%",
  "*",
  "__proto__",
  "関所",
  "x".repeat(256),
];

export const unknownTaskCases: readonly ConformanceCase[] = [
  ["get", {}] as const,
  ["cancel", {}] as const,
  ["answer", { text: "yes" }] as const,
].map(([verb, params]): ConformanceCase => {
  const method = `${verb}_task`;
  return {
    name: `tasks/unknown-${verb}`,
    level: "required",
    section: `\`${method}\``,
    expects: `${method} of tasks that are not known: task_not_found, error -32061; or -32601 where there is no such method`,
    advice: unknownAdvice,
    check(run) {
      const keys: object[] = unknownIds.map((id) => ({ task_id: id }));
      keys.push({ task_id: randomUUID(), x_unknown: { a: [1] } });
      if (verb !== "answer") keys.push({ request_id: randomUUID() });
      const steps = keys.map(
        (key) => [`${method} ${JSON.stringify(key).slice(0, 60)}`, { ...params, ...key }] as const,
      );
      return eachStep(run, steps, async (all) =>
        expectError(await run.peer.call({ method, params: all }), [
          "task_not_found",
          "method_not_found",
        ]),
      );
    },
  };
});

const section = "`answer_task`";

export const questionCases: readonly ConformanceCase[] = [
  {
    name: "question/asks",
    level: "required",
    section: "`input_required`",
    expects:
      "a text at which the agent asks: input_required with task_id and prompt; options with ids of their own",
    advice:
      "Give each question a prompt that is not blank, and each option another id and a label.",
    async check({ tasks }) {
      const { question, last } = await tasks.asking();
      const { prompt, options = [] } = question;
      const ids = options.map(({ id }) => id);
      const fits = ({ id, label }: (typeof options)[number]) =>
        id.length >= 1 && id.length <= 128 && label.trim() !== "";
      const isWhole = prompt.trim() !== "" && options.every(fits);
      if (!isWhole || new Set(ids).size < ids.length) throw new Deviation(last.came);
      return last.came;
    },
  },
  {
    name: "question/read-again",
    level: "required",
    section: "`input_required`",
    needs: ["question/asks"],
    expects:
      "get_task of a task that asks, by task_id and by request_id: the same question with the same options, kind and expires_at, and the same question_id where there is one",
    advice: "Store the question with its id, and show it at every read until it is answered.",
    async check(run) {
      const task = await run.tasks.asking();
      const { taskId, requestId, sessionId } = task;
      const steps = [
        ["by task_id", { task_id: taskId }] as const,
        ["by request_id", { request_id: requestId }] as const,
        ["by task_id once more", { task_id: taskId }] as const,
      ];
      return eachStep<object>(run, steps, async (params) => {
        const answer = await run.peer.call({ method: "get_task", params, sessionId });
        if (!isSameQuestion(expectResult(answer, "get_task"), task.question))
          throw new Deviation(answer.came);
        return answer.came;
      });
    },
  },
  {
    name: "question/bad-answers",
    level: "required",
    section,
    needs: ["question/read-again"],
    expects:
      "an answer without option and text, and an option that was not offered: invalid_params, error -32602",
    advice:
      "Check option_id against the options of the open question, and refuse an answer that says nothing.",
    async check(run) {
      const task = await run.tasks.asking();
      run.step("an answer without option and text");
      const came = expectError(await reply(run, task, {}), ["invalid_params"]);
      if ((task.question.options ?? []).length === 0) return came;
      run.step("an option that was not offered");
      return expectError(
        await reply(run, task, { option_id: unofferedOption(task.question.options) }),
        ["invalid_params"],
      );
    },
  },
  {
    name: "question/another-question",
    level: "required",
    section,
    needs: ["question/bad-answers"],
    expects:
      "an answer to another question_id: invalid_state, error -32063, and the question stays open",
    advice:
      "Compare question_id with that of the open question. A late answer must not answer the next question.",
    async check(run) {
      const task = await run.tasks.asking();
      const { question_id } = task.question;
      // An endpoint need not name its questions.
      if (question_id === undefined)
        throw new NotApplicable(`the question has no question_id: ${task.last.came}`);
      const others = { ...task, question: { ...task.question, question_id: randomUUID() } };
      run.step("an answer to another question");
      expectError(await reply(run, others), ["invalid_state"]);
      run.step("get_task");
      const answer = await readTask(run, task);
      if (!isSameQuestion(expectResult(answer, "get_task"), task.question))
        throw new Deviation(answer.came);
      return answer.came;
    },
  },
  {
    name: "question/answer",
    level: "required",
    section,
    needs: ["question/bad-answers"],
    // That case needs the question open.
    after: ["question/another-question"],
    expects:
      "answer_task, and the same answer again under another id, by another person: the same result",
    advice:
      "Take the first answer. Two people may click, so the same answer again gets the same result.",
    async check(run) {
      const task = await run.tasks.asking();
      run.step("the answer");
      const first = await reply(run, task, undefined, answerIdOf(task));
      skipWithoutMethod(first, "answer_task");
      run.step("the same answer under another id, by another person");
      const again = { ...usualAnswer(task), user_id: newSlackId("U") };
      return expectSameResult(first, await reply(run, task, again));
    },
  },
  {
    name: "question/repeated-answer",
    level: "required",
    section,
    needs: ["question/answer"],
    expects: "the same answer_task with the same id again: the same result",
    advice:
      "Store the id of the answer. The Verification zone repeats a send whose outcome it does not know.",
    async check(run) {
      const task = await run.tasks.asking();
      const first = await reply(run, task, undefined, answerIdOf(task));
      run.step("once more");
      return expectSameResult(first, await reply(run, task, undefined, answerIdOf(task)));
    },
  },
  {
    name: "question/goes-on",
    level: "required",
    section: "Task states",
    needs: ["question/answer"],
    expects: "a task whose question was answered, polled: it ends, or asks another question",
    advice: "Give the answer to the agent, and let the task go on.",
    async check(run) {
      const { question, ...task } = await run.tasks.asking();
      run.step("get_task");
      const { taskId, sessionId } = task;
      const answer = await run.peer.call({
        method: "get_task",
        params: { task_id: taskId },
        sessionId,
      });
      const { last } = await followTask(run, { ...task, answer });
      if (readPeerError(last) !== undefined) {
        if (hasReason(last, ["task_not_found", "method_not_found", "internal"]))
          throw new Deviation(last.came);
        return last.came;
      }
      const result = expectResult(last, "get_task");
      const { question_id } = question;
      const isSame =
        result.status === "input_required" &&
        question_id !== undefined &&
        result.question_id === question_id;
      if (isSame) throw new Deviation(`${last.came}; it was answered before`);
      expectWhole({ ...task, last }, run.texts.ask);
      return last.came;
    },
  },
  {
    name: "question/chosen-option",
    level: "required",
    section,
    needs: ["question/goes-on"],
    expects:
      "the last option instead of the first, where the first one's answer names its option: the answer does not name the first",
    advice: "Give the agent the option that was chosen: its id, as it was offered.",
    async check(run) {
      const askingTask = await run.tasks.asking();
      const { options = [] } = askingTask.question;
      const [first, last] = [options[0], options.at(-1)];
      if (first === undefined || last === undefined || first === last)
        throw new NotApplicable("there is no choice");
      run.step("get_task of the task whose first option was chosen");
      const namedEnd = await followTask(run, {
        ...askingTask,
        answer: await readTask(run, askingTask),
      });
      if (!names(namedEnd.last, first) || names(namedEnd.last, last)) {
        throw new NotApplicable(`the answer does not say what was chosen: ${namedEnd.last.came}`);
      }
      const task = await run.tasks.askingForLastOption();
      run.step("answer_task with the last option");
      const answer = await reply(run, task, { option_id: task.question.options?.at(-1)?.id });
      const { last: end } = await followTask(run, { ...task, answer });
      if (names(end, first) && !names(end, last)) {
        throw new Deviation(`${end.came}; ${JSON.stringify(last.label)} was chosen`);
      }
      return end.came;
    },
  },
  {
    name: "question/other-answer",
    level: "required",
    section,
    needs: ["question/answer"],
    expects: "another answer to a question that was answered: invalid_state, error -32063",
    advice: "The first answer counts. Refuse every other answer to the same question.",
    async check(run) {
      const task = await run.tasks.asking();
      run.step("words");
      const came = expectError(await reply(run, task, { text: "something else altogether" }), [
        "invalid_state",
      ]);
      const [, other] = task.question.options ?? [];
      if (other === undefined) return came;
      run.step("another option");
      return expectError(await reply(run, task, { option_id: other.id }), ["invalid_state"]);
    },
  },
  {
    name: "question/answers-at-the-same-time",
    level: "required",
    section,
    needs: ["question/answer"],
    expects:
      "two different answers at the same time: one is taken, and the other is invalid_state, error -32063",
    advice: "Take the answer by one conditional write, so that of two at the same time one wins.",
    async check(run) {
      const task = await run.tasks.askingForTwo();
      const [, other] = task.question.options ?? [];
      const second = other === undefined ? { text: "no" } : { option_id: other.id };
      const both = await Promise.all([reply(run, task), reply(run, task, second)]);
      const refusals = both.filter((answer) => hasReason(answer, ["invalid_state"]));
      const came = both.map((answer) => answer.came).join("; ");
      if (refusals.length === 1) return came;
      throw new Deviation(came);
    },
  },
  {
    name: "question/id-used-before",
    level: "strict",
    section,
    needs: ["question/answer"],
    expects: "another answer under an id that was used before: already_exists, error -32068",
    advice: "Compare the content of an answer with what is stored under its id.",
    async check(run) {
      const task = await run.tasks.asking();
      const other = { text: "something else under the same id" };
      return expectError(await reply(run, task, other, answerIdOf(task)), ["already_exists"]);
    },
  },
  {
    name: "question/canceled",
    level: "required",
    section: "`cancel_task`",
    needs: ["question/asks"],
    // That case needs the question open.
    after: ["idempotency/asking"],
    expects:
      "cancel_task of a task that asks: canceled; an answer after that: invalid_state or canceled",
    advice: "A question can be canceled. Nobody can answer it after that.",
    async check(run) {
      const task = await run.tasks.askingAgain();
      run.step("cancel_task");
      const params = { task_id: task.taskId };
      const cancelAnswer = await run.peer.call({
        method: "cancel_task",
        params,
        sessionId: task.sessionId,
      });
      skipWithoutMethod(cancelAnswer, "cancel_task");
      if (expectResult(cancelAnswer, "cancel_task").task_id !== task.taskId)
        throw new Deviation(cancelAnswer.came);
      run.step("answer_task after that");
      return expectError(await reply(run, task), ["invalid_state", "canceled"]);
    },
  },
];

/** True if the answer of the agent has the option's id or label as words of its own. */
export function names(answer: PeerAnswer, { id, label }: { id: string; label: string }): boolean {
  const text = ` ${words(Object(readPeerResult(answer)).response_text)} `;
  return [id, label].some((name) => text.includes(` ${words(name)} `));
}

function words(text: unknown): string {
  return String(text)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

const answerIds = new WeakMap<object, string>();

/** The id under which the task's question is answered. */
export function answerIdOf({ question }: AskingTask): string {
  const id = answerIds.get(question) ?? randomUUID();
  answerIds.set(question, id);
  return id;
}

/** Chooses the first option, or answers yes. */
export function reply(
  { peer }: CaseRun,
  task: AskingTask,
  replyFields: object = usualAnswer(task),
  id?: string,
) {
  const { taskId, sessionId, question } = task;
  const { question_id } = question;
  const params = {
    task_id: taskId,
    ...replyFields,
    ...(question_id !== undefined && { question_id }),
  };
  return peer.call({ method: "answer_task", params, sessionId, ...(id !== undefined && { id }) });
}

function usualAnswer({
  question: { options: [option] = [] },
}: Pick<AskingTask, "question">): object {
  return option === undefined ? { text: "yes" } : { option_id: option.id };
}

/** True if it asks the same as before, of the same task. */
export function isSameQuestion(
  again: TaskResult,
  { expires_at: endsAt, ...question }: Question,
): boolean {
  if (again.status !== "input_required" || !isSameTime(again.expires_at, endsAt)) return false;
  const { task_id, prompt, options, fields, kind, question_id, answerers, approvals } = again;
  const shown = { task_id, prompt, options, fields, kind, question_id, answerers, approvals };
  return Object.entries(shown).every(
    ([name, value]) => comparable(value) === comparable(question[name as keyof typeof question]),
  );
}

/** Some stores keep whole seconds. */
function isSameTime(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  const [early, late] = [one, other].map((time) => Date.parse(time)).sort((a, b) => a - b) as [
    number,
    number,
  ];
  return early === late || (early % 1000 === 0 && late - early < 1000);
}

/** An id close to an offered one, which nobody can know before. */
export function unofferedOption([first]: readonly { id: string }[] = []): string {
  return `${first?.id.slice(0, 100) ?? ""}-${randomUUID().slice(0, 8)}`;
}

export function readTask(
  { peer }: CaseRun,
  { taskId, sessionId }: AskingTask,
): Promise<PeerAnswer> {
  return peer.call({ method: "get_task", params: { task_id: taskId }, sessionId });
}

/** An accepted task may have gone on in between. */
function expectSameResult(first: PeerAnswer, second: PeerAnswer): string {
  const [one, other] = [expectResult(first, "answer_task"), expectResult(second, "answer_task")];
  const isSame =
    one.status === "accepted"
      ? other.status === "success" || other.task_id === one.task_id
      : comparable(one) === comparable(other);
  if (!isSame) throw new Deviation(`first ${first.came}; then ${second.came}`);
  return second.came;
}
