/** Cases that look at a task once more, some seconds after its end. By then a forgetful endpoint has lost or changed it. */
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
import type { Observation } from "../peer.ts";
import { type AskingTask, type EndedTask, expectSuccess, followTask, startTask } from "../tasks.ts";
import { expectSameEnd } from "./accepted.ts";
import { outcomes } from "./failures.ts";
import { expectSameError, expectSameOutcome, repeat } from "./idempotency.ts";
import { answerIdOf, isSameQuestion, readTask, reply } from "./questions.ts";

const keepAdvice =
  "Keep the outcome of a task for hours after its end (our host: 24), and never change it.";

/** Waits until the end of the slow task is long enough ago. */
async function pause({ waits, now, sleep, step }: CaseRun, endedAtMs: number): Promise<void> {
  step(`wait until ${waits.secondLookMs / 1000} s after the end`);
  await sleep(Math.max(endedAtMs + waits.secondLookMs - now(), 0));
}

/** Waits longer after the end of a task that is not slow: the run lasts as long anyway. */
function pauseLonger({ waits, ...run }: CaseRun, endedAtMs: number): Promise<void> {
  return pause({ ...run, waits: { ...waits, secondLookMs: waits.lastLookMs } }, endedAtMs);
}

export const secondLookCases: readonly ConformanceCase[] = [
  {
    name: "second-look/success",
    level: "required",
    section: "Task states",
    isSecondLook: true,
    needs: ["ended/stays"],
    expects: "a slow task that is over, read later by both ids: the same result",
    advice: keepAdvice,
    async check(run) {
      const task = expectSuccess(await run.tasks.slowEnd());
      await pause(run, task.endedAtMs);
      return expectSameEnd(run, task);
    },
  },
  {
    name: "second-look/canceled",
    level: "required",
    section: "Task states",
    isSecondLook: true,
    needs: ["cancel/then-read"],
    after: ["cancel/at-once"],
    expects:
      "a canceled task, and one that was canceled at once, read later: still canceled, error -32076",
    advice: "Drop what the agent answers after its task was canceled.",
    async check(run) {
      const { taskId, requestId, sessionId } = await run.tasks.toCancel();
      // By the end of a task with the same text, the agent of this one is done too.
      const other = await run.tasks.slowEnd().catch(() => undefined);
      await pause(run, other?.endedAtMs ?? run.now());
      const atOnce = await run.tasks.canceledAtOnce();
      const isCanceled = Object(readPeerResult(atOnce.canceled)).status === "canceled";
      const keys = [
        ["by task_id", { params: { task_id: taskId }, sessionId }] as const,
        ["by request_id", { params: { request_id: requestId }, sessionId }] as const,
        ...(isCanceled
          ? [
              [
                "of the task that was canceled at once",
                { params: { request_id: atOnce.requestId }, sessionId: atOnce.sessionId },
              ] as const,
            ]
          : []),
      ];
      return eachStep<object>(run, keys, async (call) =>
        expectError(await run.peer.call({ method: "get_task", ...call }), ["canceled"]),
      );
    },
  },
  {
    name: "second-look/timed-out",
    level: "required",
    section: "Task states",
    isSecondLook: true,
    needs: ["execute/timeout-ms"],
    expects:
      "a task whose time was over, read later by its request id: still timeout, error -32001",
    advice: "Drop what the agent answers after the time of its task is over.",
    async check(run) {
      const { requestId, sessionId } = await run.tasks.timedOut();
      const other = await run.tasks.slowEnd().catch(() => undefined);
      await pause(run, other?.endedAtMs ?? run.now());
      const answer = await run.peer.call({
        method: "get_task",
        params: { request_id: requestId },
        sessionId,
      });
      if (hasReason(answer, ["task_not_found", "method_not_found"]))
        throw new NotApplicable(answer.came);
      return expectError(answer, ["timeout"]);
    },
  },
  {
    name: "second-look/repeated-timeout",
    level: "idempotent",
    section: "`execute_task`",
    isSecondLook: true,
    needs: ["execute/timeout-ms"],
    expects: "the request of a task whose time was over, sent again later: timeout, error -32001",
    advice: keepAdvice,
    async check(run) {
      const first = await run.tasks.timedOut();
      await pauseLonger(run, first.endedAtMs);
      return expectError((await repeat(run, first)).last, ["timeout"]);
    },
  },
  {
    name: "second-look/answered",
    level: "required",
    section: "`answer_task`",
    isSecondLook: true,
    needs: ["question/repeated-answer", "question/goes-on"],
    expects:
      "a task whose question was answered, read later: the same outcome, the question is not asked again, and the answer is known",
    advice:
      "An answered question is over. If the agent asks once more, that is another question_id.",
    async check(run) {
      const task = await run.tasks.asking();
      const isOfTask = ({ params }: Observation) => Object(params).task_id === task.taskId;
      const outcome = run.observations.findLast(
        (one) => one.caseName === "question/goes-on" && isOfTask(one),
      )?.answer;
      await pauseLonger(run, run.now());
      run.step("get_task");
      const params = { task_id: task.taskId };
      const answer = await run.peer.call({ method: "get_task", params, sessionId: task.sessionId });
      const result =
        readPeerError(answer) === undefined ? expectResult(answer, "get_task") : undefined;
      if (result === undefined && hasReason(answer, ["task_not_found"]))
        throw new Deviation(answer.came);
      const isAsked =
        result?.status === "input_required" && result.question_id === task.question.question_id;
      if (isAsked) throw new Deviation(`${answer.came}; it was answered before`);
      const isKept =
        outcome === undefined ||
        comparable(readPeerResult(outcome)) === comparable(readPeerResult(answer));
      if (!isKept) throw new Deviation(`first ${outcome.came}; then ${answer.came}`);
      run.step("the same answer with the same id");
      const again = await reply(run, task, undefined, answerIdOf(task));
      if (readPeerError(again) === undefined) return again.came;
      // An agent that failed meanwhile answers with its error.
      if (hasReason(again, ["invalid_state", "already_exists", "task_not_found"]))
        throw new Deviation(again.came);
      return again.came;
    },
  },
  {
    name: "second-look/late-answer",
    level: "required",
    section: "`execute_task`",
    needs: ["question/asks"],
    isSecondLook: true,
    expects:
      "a question that is open for longer than the task's timeout_ms: the same question until then, and its answer is taken",
    advice:
      "Stop the clock of timeout_ms while a question is open, and keep the question. People answer hours later.",
    async check(run) {
      const { now, waits, texts, step } = run;
      const { timeoutMs, answerMs } = waits.lateAnswer;
      const sentAtMs = now();
      const task = toAsking(
        await followTask(run, await startTask(run, { text: texts.ask, timeout_ms: timeoutMs })),
      );
      const askedMs = now() - sentAtMs;
      step(`wait for ${answerMs / 1000} s`);
      await run.sleep(answerMs);
      const answeredAtMs = now();
      step("get_task");
      const open = await readTask(run, task);
      if (!isSameQuestion(expectResult(open, "get_task"), task.question))
        throw new Deviation(open.came);
      step("answer_task");
      const answer = await reply(run, task);
      skipWithoutMethod(answer, "answer_task");
      const { last } = await followTask(run, { ...task, answer });
      // The agent itself may need all of its time.
      if (hasReason(last, ["timeout"]) && askedMs + now() - answeredAtMs >= timeoutMs)
        throw new NotApplicable(`the agent takes longer than ${timeoutMs / 1000} s`);
      if (hasReason(last, ["timeout", "task_not_found", "invalid_state", "canceled"]))
        throw new Deviation(last.came);
      return last.came;
    },
  },
  {
    name: "second-look/failed",
    level: "idempotent",
    section: "Task states",
    isSecondLook: true,
    needs: ["failure/error"],
    expects: "a failed task, read later by its request id: the same error",
    advice: keepAdvice,
    async check(run) {
      const { requestId, sessionId, last, endedAtMs } = await run.tasks.failed();
      await pauseLonger(run, endedAtMs);
      const answer = await run.peer.call({
        method: "get_task",
        params: { request_id: requestId },
        sessionId,
      });
      skipWithoutMethod(answer, "get_task");
      return expectSameError(last, answer);
    },
  },
  {
    name: "second-look/repeated",
    level: "idempotent",
    section: "`execute_task`",
    isSecondLook: true,
    needs: ["idempotency/same-outcome"],
    expects: "a request sent again after the end of its task: the stored outcome, word for word",
    advice: keepAdvice,
    async check(run) {
      const first = await run.tasks.plain();
      await pauseLonger(run, first.endedAtMs);
      return expectSameOutcome(first, await repeat(run, first));
    },
  },
  {
    name: "second-look/repeated-slow",
    level: "idempotent",
    section: "`execute_task`",
    isSecondLook: true,
    needs: ["ended/stays", "idempotency/not-run-again"],
    expects:
      "the request of a slow task sent again after its end: the stored outcome, word for word",
    advice: keepAdvice,
    async check(run) {
      const first = expectSuccess(await run.tasks.slowEnd());
      await pause(run, first.endedAtMs);
      return expectSameOutcome(first, await repeat(run, first));
    },
  },
  {
    name: "second-look/repeated-cancel",
    level: "idempotent",
    section: "`execute_task`",
    isSecondLook: true,
    needs: ["idempotency/canceled"],
    expects: "the request of a canceled task sent again later: canceled, error -32076",
    advice: keepAdvice,
    async check(run) {
      const task = await run.tasks.toCancel();
      await pauseLonger(run, run.now());
      run.step("execute_task again");
      return expectError((await repeat(run, task)).last, ["canceled"]);
    },
  },
  {
    name: "second-look/repeated-question",
    level: "idempotent",
    section: "`execute_task`",
    isSecondLook: true,
    needs: ["question/goes-on"],
    expects:
      "the request of a task whose question was answered, sent again later: its outcome, and not the same question",
    advice: keepAdvice,
    async check(run) {
      const { question, ...task } = await run.tasks.asking();
      await pauseLonger(run, run.now());
      run.step("execute_task again");
      const { last } = await repeat(run, task);
      if (readPeerError(last) !== undefined) return expectError(last, outcomes);
      const result = expectResult(last, "execute_task");
      const { question_id } = question;
      const isSame =
        result.status === "input_required" &&
        (question_id === undefined || result.question_id === question_id);
      if (isSame) throw new Deviation(last.came);
      return last.came;
    },
  },
  {
    name: "second-look/repeated-failure",
    level: "idempotent",
    section: "`execute_task`",
    isSecondLook: true,
    needs: ["idempotency/failed"],
    expects:
      "a request sent again after its task failed: the same error, and the agent does not run again",
    advice: keepAdvice,
    async check(run) {
      const first = await run.tasks.failed();
      await pauseLonger(run, first.endedAtMs);
      return expectSameError(first.last, (await repeat(run, first)).last);
    },
  },
];

function toAsking(task: EndedTask): AskingTask {
  const { last } = task;
  const question = readPeerError(last) === undefined ? expectResult(last, "get_task") : undefined;
  if (question?.status === "input_required") return { ...task, taskId: question.task_id, question };
  throw new NotApplicable(`the agent did not ask in time: ${last.came}`);
}
