/** Cases of replies in words, and of the question after a reply. */
import type { ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import {
  eachStep,
  expectError,
  expectResult,
  readPeerError,
  readPeerResult,
  skipWithoutMethod,
} from "../expect.ts";
import { markPattern } from "../peer.ts";
import { type AskingTask, followTask, newSlackId } from "../tasks.ts";
import { repeatsTexts } from "./execute.ts";
import { repeat } from "./idempotency.ts";
import { isSameQuestion, names, readTask, reply } from "./questions.ts";

const section = "`answer_task`";

export const replyCases: readonly ConformanceCase[] = [
  {
    name: "question/free-text",
    level: "required",
    section,
    needs: ["question/asks"],
    // Those cases probe the question while it is open.
    after: ["authentication/own-tasks", "isolation/another-caller-answers"],
    expects:
      "an answer in 39,000 characters with Japanese and emoji, whether or not there are options: a result as of get_task, and nothing changed or cut",
    advice:
      "Take text beside option_id, whole. A person may reply in the thread instead of pressing a button.",
    async check(run) {
      const task = await run.tasks.askingForText();
      const beginning = run.peer.mark("Neither of them, please.", task.sessionId);
      const text = run.peer.mark(
        beginning.padEnd(39_000, " 関所🏯を通る か\u3099 0123456789 whole"),
        task.sessionId,
      );
      const answer = await reply(run, task, { text, user_id: newSlackId("U") });
      skipWithoutMethod(answer, "answer_task");
      const { last } = await followTask(run, { ...task, answer });
      if (readPeerError(answer) !== undefined) throw new Deviation(answer.came);
      const [mark = ""] = beginning.match(markPattern) ?? [];
      const end = String(Object(readPeerResult(last)).response_text);
      const namedOptions = (task.question.options ?? []).filter((option) => names(last, option));
      if (namedOptions.length === 1 && !end.includes(mark))
        throw new Deviation(`${last.came}; words were given, and no option`);
      if (end.includes(mark) && !end.includes(text) && (await repeatsTexts(run))) {
        throw new Deviation(
          `${last.came}; the agent repeats the beginning of the reply, and not all of it`,
        );
      }
      return last.came;
    },
  },
  {
    name: "question/second",
    level: "required",
    section,
    needs: ["question/read-again"],
    expects:
      "a second question in one task: another question_id, a late answer to the first question is invalid_state, the first answer once more is no answer to the second question, and that one stays open until its own answer",
    advice:
      "Give each question an id of its own, and compare question_id with that of the open question. A second click arrives late.",
    async check(run) {
      const first = await run.tasks.askingTwice();
      run.step("the answer to the first question");
      const answer = await reply(run, first);
      skipWithoutMethod(answer, "answer_task");
      const { last } = await followTask(run, { ...first, answer });
      const question = expectResult(last, "get_task");
      if (question.status !== "input_required")
        throw new NotApplicable("there is no second question (--questions-text)");
      const [firstId, secondId] = [first.question.question_id, question.question_id];
      if (firstId === undefined && secondId === undefined)
        throw new NotApplicable(`the question has no question_id: ${last.came}`);
      if (
        firstId === undefined ||
        secondId === undefined ||
        firstId === secondId ||
        question.task_id !== first.taskId
      )
        throw new Deviation(`first ${first.last.came}; then ${last.came}`);
      const second: AskingTask = { ...first, last, question };
      run.step("another answer to the first question");
      expectError(await reply(run, first, { text: run.peer.mark("Once more.", first.sessionId) }), [
        "invalid_state",
      ]);
      run.step("the first answer once more");
      const click = await reply(run, first);
      if (readPeerError(click) === undefined) expectResult(click, "answer_task");
      else expectError(click, ["invalid_state"]);
      const reads = [
        ["get_task of the second question", {}] as const,
        ["the same with wait_ms", { wait_ms: 500 }] as const,
      ];
      await eachStep<object>(run, reads, async (wait) => {
        const { taskId, sessionId } = second;
        const params = { task_id: taskId, ...wait };
        const open = await run.peer.call({ method: "get_task", params, sessionId });
        if (!isSameQuestion(expectResult(open, "get_task"), question))
          throw new Deviation(open.came);
        return open.came;
      });
      if (run.isIdempotent) {
        run.step("execute_task again");
        const { last: repeatedAnswer } = await repeat(run, first);
        if (!isSameQuestion(expectResult(repeatedAnswer, "execute_task"), question))
          throw new Deviation(repeatedAnswer.came);
      }
      run.step("the answer to the second question");
      const end = await followTask(run, { ...second, answer: await reply(run, second) });
      const { status, ...endResult } = expectResult(end.last, "get_task");
      const isAskedAgain =
        "question_id" in endResult &&
        [first, second].some((one) => endResult.question_id === one.question.question_id);
      if (isAskedAgain) throw new Deviation(`${end.last.came}; it was answered before`);
      return `${status}: ${end.last.came}`;
    },
  },
  {
    name: "question/ends-wait",
    level: "strict",
    section: "`get_task`",
    needs: ["question/second"],
    expects:
      "get_task with wait_ms, sent while the first question was open: an answer within three seconds of the second question",
    advice:
      "End a wait when another question is open, though the state is the same. Otherwise people see it seconds late.",
    async check(run) {
      const first = await run.tasks.askingTwiceAgain();
      const { taskId, sessionId } = first;
      let isOpen = true;
      const heldPoll = run.peer
        .call({ method: "get_task", params: { task_id: taskId, wait_ms: waitMs }, sessionId })
        .finally(() => {
          isOpen = false;
        });
      // Calls wait for a slot in their order, so the wait has begun when this read is answered.
      run.step("get_task of the first question");
      await readTask(run, first);
      run.step("the answer to the first question");
      const { last } = await followTask(run, { ...first, answer: await reply(run, first) });
      run.step("the end of the wait");
      await Promise.race([heldPoll, run.sleep(graceMs)]);
      const isLate = isOpen;
      const { came } = await heldPoll;
      if (isLate)
        throw new Deviation(
          `${last.came}; the wait went on after that until it ended with ${came}`,
        );
      return came;
    },
  },
];

const waitMs = 20_000;
const graceMs = 3000;
