/** Cases of the question that a task may ask; skipped where the agent asks nothing. */
import { isDeepStrictEqual } from "node:util";
import type { TaskResult } from "../../../../contracts/methods.ts";
import { type CaseRun, type ConformanceCase, Deviation, NotApplicable } from "../case.ts";
import { expectError, expectResult } from "../expect.ts";
import type { PeerAnswer } from "../peer-answer.ts";
import { runTask } from "../run-task.ts";

export const questionCases: readonly ConformanceCase[] = [
  {
    name: "tasks/question",
    level: "required",
    expects: "answer_task of a task that asks: a result as of get_task, and the same for the same answer again",
    async check(run) {
      const { asked } = await startQuestion(run);
      return answerTwice({ run, asked });
    },
  },
  {
    name: "tasks/question-id",
    level: "required",
    expects:
      "a question with a question_id: an answer to another one, and another answer to this one, are invalid_state, error -32063",
    check: questionId,
  },
];

type Question = Extract<TaskResult, { status: "input_required" }>;
type ReplyParams = { text: string } | { option_id: string };

async function startQuestion(run: CaseRun): Promise<{ asked: Question; came: string }> {
  const { texts, newId } = run;
  const { answer, id } = await runTask({ run, params: { text: texts.ask }, id: newId() });
  const asked = expectResult({ answer, method: "get_task", id });
  if (asked.status === "input_required") return { asked, came: answer.came };
  throw new NotApplicable(
    `the agent did not ask anything at ${JSON.stringify(texts.ask)} (--ask-text): ${answer.came}`,
  );
}

/** Only judged where the peer names its questions: it need not. */
async function questionId(run: CaseRun): Promise<string> {
  const { peer, newId } = run;
  const { asked, came } = await startQuestion(run);
  const { task_id, question_id } = asked;
  if (question_id === undefined) throw new NotApplicable(`the question has no question_id: ${came}`);
  expectRefused({ run, ...(await reply({ run, asked: { ...asked, question_id: newId() } })) });
  const id = newId();
  const answer = await peer.call({ method: "get_task", params: { task_id }, id });
  const still = expectResult({ answer, method: "get_task", id });
  if (still.status !== "input_required" || still.question_id !== question_id) throw new Deviation(answer.came);
  await answerTwice({ run, asked });
  return expectRefused({ run, ...(await reply({ run, asked, said: { text: "something else altogether" } })) });
}

async function answerTwice({ run, asked }: { run: CaseRun; asked: Question }): Promise<string> {
  const first = expectTaken(await reply({ run, asked }));
  const again = expectTaken(await reply({ run, asked }));
  if (!mayFollow(first.result, again.result)) throw new Deviation(`first ${first.came}; then ${again.came}`);
  return first.came;
}

/** The same result, or what has become of the task meanwhile. */
function mayFollow(first: TaskResult, again: TaskResult): boolean {
  if (first.status !== "accepted") return isDeepStrictEqual(first, again);
  return again.status === "success" || again.task_id === first.task_id;
}

type Reply = { answer: PeerAnswer; id: string };

async function reply({
  run: { peer, newId },
  asked: { task_id, question_id, options },
  said = usualAnswer(options),
}: {
  run: CaseRun;
  asked: Question;
  said?: ReplyParams;
}): Promise<Reply> {
  const id = newId();
  const params = { task_id, ...said, ...(question_id !== undefined && { question_id }) };
  return { id, answer: await peer.call({ method: "answer_task", params, id }) };
}

/** The first option, or yes. */
function usualAnswer([option]: Question["options"] = []): ReplyParams {
  return option === undefined ? { text: "yes" } : { option_id: option.id };
}

function expectTaken({ answer, id }: Reply): { result: TaskResult; came: string } {
  return { result: expectResult({ answer, method: "answer_task", id }), came: answer.came };
}

function expectRefused({ run: { peer }, answer, id }: Reply & { run: CaseRun }): string {
  return expectError({ answer, reasons: ["invalid_state"], ids: [id], dialect: peer.dialect });
}
