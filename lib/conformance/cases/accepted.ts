/** Cases of tasks that go on after `accepted`: reading, canceling and their end. Skipped where the endpoint answers at once. */
import { maxPartialTextLength } from "@sekisho/contracts/limits.ts";
import { progressSchema } from "@sekisho/contracts/methods.ts";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import {
  comparable,
  eachStep,
  expectError,
  expectResult,
  expectUnseenTask,
  hasReason,
  isSet,
  readPeerError,
  readPeerResult,
  skipWithoutMethod,
} from "../expect.ts";
import type { PeerAnswer } from "../peer.ts";
import { type AcceptedTask, expectSuccess, type Succeeded, startTask } from "../tasks.ts";
import { expectWhole } from "./execute.ts";

const get = "`get_task`";
const acceptedCase = ["accepted/result"];
const keepAdvice =
  "Store the task before you answer accepted, under its task id and its request id, and find it by both.";

export const acceptedCases: readonly ConformanceCase[] = [
  {
    name: "accepted/in-time",
    level: "required",
    section: "Bounds",
    expects:
      "a slow task: a result, or timeout, error -32001, within the time that a call is given",
    advice:
      "Answer accepted with a task_id before the call's time is over, and let the task go on.",
    /** Any error but `timeout` says nothing about slow tasks, and the cases after this one are skipped. So this one must fail. */
    async check({ tasks }) {
      const { answer } = await tasks.slow();
      if (answer.response === undefined) throw new Deviation(answer.came);
      return readPeerError(answer) === undefined ? answer.came : expectError(answer, ["timeout"]);
    },
  },
  {
    name: "accepted/result",
    level: "required",
    section: "`accepted`",
    needs: ["accepted/in-time"],
    expects: "a slow task: status accepted with a task_id",
    advice: "Give each task a task_id of 1 to 256 characters.",
    check: async ({ tasks }) => (await tasks.accepted()).answer.came,
  },
  {
    name: "accepted/own-ids",
    level: "required",
    section: "`accepted`",
    needs: acceptedCase,
    expects: "three slow tasks: another task_id each",
    advice: "Make task ids that are unique, such as UUIDs.",
    async check({ tasks }) {
      const all = await Promise.all([
        tasks.accepted(),
        tasks.toCancel(),
        tasks.toCancelByRequest(),
      ]);
      const came = all.map(({ answer }) => answer.came).join("; ");
      if (new Set(all.map(({ taskId }) => taskId)).size < all.length) throw new Deviation(came);
      return came;
    },
  },
  {
    name: "accepted/by-task-id",
    level: "required",
    section: get,
    needs: acceptedCase,
    expects: "get_task by task_id: the same task, accepted until it is over",
    advice: keepAdvice,
    check: (run) => readSame(run, ({ taskId }) => ({ task_id: taskId })),
  },
  {
    name: "accepted/by-request-id",
    level: "required",
    section: get,
    needs: acceptedCase,
    expects: "get_task by request_id, for an accepted that was lost: the same task",
    advice: keepAdvice,
    check: (run) => readSame(run, ({ requestId }) => ({ request_id: requestId })),
  },
  {
    name: "accepted/lost-response",
    level: "required",
    section: get,
    needs: acceptedCase,
    expects:
      "a caller that hangs up during execute_task: the task is found by request_id, and can be canceled",
    advice:
      "Do not tie the task to its connection: store it first, and let it go on when the caller is gone.",
    async check(run) {
      const { tasks, waits } = run;
      // The request must arrive before the caller is gone: in a session that is warm, and after a multiple of the usual time.
      const { sessionId } = await tasks.toCancelByRequest();
      const hangUpMs = Math.ceil(Math.max(waits.hangUpMs, 3 * (await tasks.plain()).answer.tookMs));
      let { answer, params } = await loseResponse(run, { hangUpMs, sessionId });
      // It may not have arrived all the same, which would be no fault of the endpoint.
      if (hasReason(answer, ["task_not_found"])) {
        ({ answer, params } = await loseResponse(run, { hangUpMs: 4 * hangUpMs, sessionId }));
      }
      expectResult(answer, "get_task");
      run.step("cancel_task by request_id");
      const cancelAnswer = await run.peer.call({ method: "cancel_task", params, sessionId });
      if (readPeerError(cancelAnswer) === undefined) expectResult(cancelAnswer, "cancel_task");
      else expectError(cancelAnswer, ["invalid_state", "method_not_found"]);
      return answer.came;
    },
  },
  {
    name: "accepted/long-poll",
    level: "strict",
    section: get,
    needs: acceptedCase,
    expects: "get_task with wait_ms: the same task, at once or when something changes",
    advice: "Take wait_ms. You need not wait.",
    check: (run) => readSame(run, ({ taskId }) => ({ task_id: taskId, wait_ms: 100 })),
  },
  {
    name: "accepted/partial-text",
    level: "required",
    section: "`accepted`",
    needs: acceptedCase,
    expects:
      "partial_text in the progress of a task that shows its answer: a text of at most 12,000 characters, none of which is cut",
    advice:
      "Cut partial_text at 12,000 characters, between two characters and not between bytes, or leave it out.",
    async check({ tasks, observations }) {
      const { sessionId } = await tasks.streamed();
      // The contract's reader ignores a malformed text, so the raw answers are checked.
      const parts = observations.flatMap(({ answer, sessionId: session }) => {
        const { partial_text: text } = Object(Object(readPeerResult(answer)).progress);
        return session === sessionId && isSet(text) ? [{ text, came: answer.came }] : [];
      });
      const isMalformed = ({ text }: { text: unknown }) =>
        typeof text !== "string" || text.length > maxPartialTextLength || text.includes("\ufffd");
      const malformed = parts.find(isMalformed);
      if (malformed !== undefined) throw new Deviation(malformed.came);
      if (parts.length === 0)
        throw new NotApplicable("no part of the answer came before its end (--stream-text)");
      return `${parts.length} parts of the answer`;
    },
  },
  {
    name: "accepted/timeout-ms",
    level: "required",
    section: "`execute_task`",
    needs: ["accepted/by-task-id"],
    expects: "a slow task with a timeout_ms of 50 ms that goes on in the background: no success",
    advice:
      "Stop the agent when timeout_ms is over. Nobody waits for it any more, and the cancel may be lost on its way.",
    async check({ tasks, texts }) {
      const { answer, last, endedAtMs, sentAtMs } = await tasks.timedOut();
      if (readPeerError(last) !== undefined) return last.came;
      if (Object(readPeerResult(answer)).status !== "accepted")
        throw new NotApplicable("the endpoint does not answer this task by accepted");
      const { status } = expectResult(last, "get_task");
      if (status === "success" && endedAtMs - sentAtMs < 1000)
        throw new NotApplicable(
          `the task "${texts.slow}" is too short for this case (--slow-text)`,
        );
      throw new Deviation(last.came);
    },
  },
  {
    name: "accepted/step-ids",
    level: "required",
    section: "`accepted`",
    needs: acceptedCase,
    expects:
      "the steps of a task that shows them, in several reads: a step with the same title has the same id",
    advice: "Keep the id of a step while its status changes. Otherwise a person sees it twice.",
    async check({ tasks, observations }) {
      const { sessionId } = await tasks.streamed();
      const reads = observations.flatMap(({ answer, sessionId: session }) => {
        const { data: steps } = stepsSchema.safeParse(
          Object(Object(readPeerResult(answer)).progress).steps,
        );
        return session === sessionId && steps !== undefined ? [{ steps, came: answer.came }] : [];
      });
      const [first, ...others] = reads;
      if (first === undefined) return "no steps came before the end of the task (--stream-text)";
      const isRenamed = ({ steps }: typeof first) =>
        steps.some(
          ({ id, title }, at) => first.steps[at]?.title === title && first.steps[at]?.id !== id,
        );
      const renamedAnswer = others.find(isRenamed);
      if (renamedAnswer !== undefined)
        throw new Deviation(`first ${first.came}; then ${renamedAnswer.came}`);
      return `${reads.length} reads of the steps`;
    },
  },
  {
    name: "accepted/keys",
    level: "strict",
    section: get,
    needs: acceptedCase,
    expects:
      "get_task with neither task_id nor request_id, with both, and with a wait_ms of 25,001: error -32602",
    advice: "Check the params of get_task by its table.",
    async check(run) {
      const { taskId, requestId } = await run.tasks.accepted();
      const steps = [
        ["no key", {}] as const,
        ["both keys", { task_id: taskId, request_id: requestId }] as const,
        ["wait_ms", { task_id: taskId, wait_ms: 25_001 }] as const,
      ];
      return eachStep<object>(run, steps, async (params) =>
        expectError(await run.peer.call({ method: "get_task", params }), ["invalid_params"]),
      );
    },
  },
];

/** Hangs up during `execute_task`, and then reads the task by its request id. */
export async function loseResponse(
  run: CaseRun,
  { hangUpMs, sessionId }: { hangUpMs: number; sessionId: string },
) {
  const { peer, waits, sleep, step, texts } = run;
  step(`execute_task, and hang up after ${hangUpMs} ms`);
  const task = await startTask(run, { text: texts.slow }, { hangUpMs, sessionId });
  const params = { request_id: task.requestId };
  step("get_task by request_id");
  const readTask = () => peer.call({ method: "get_task", params, sessionId });
  let answer = await readTask();
  for (let attempt = 0; attempt < 5 && hasReason(answer, ["task_not_found"]); attempt++) {
    await sleep(waits.pollMs.usual);
    answer = await readTask();
  }
  return { task, answer, params };
}

async function readSame(
  { peer, tasks }: CaseRun,
  key: (task: AcceptedTask) => object,
): Promise<string> {
  const task = await tasks.accepted();
  const { sessionId } = task;
  return expectSameTask(
    await peer.call({ method: "get_task", params: key(task), sessionId }),
    task.taskId,
  );
}

/** A task under way names its id. A task that has ended by now need not. */
export function expectSameTask(answer: PeerAnswer, taskId: string): string {
  const result = expectResult(answer, "get_task");
  if (result.status === "success" || result.task_id === taskId) return answer.came;
  throw new Deviation(`${answer.came}; the task was accepted as ${taskId}`);
}

/** An id whose last character but one is another digit. The last one may mean nothing, as in base64. */
function changeEnd(id: string): string {
  return `${id.slice(0, -2)}${id.at(-2) === "0" ? "1" : "0"}${id.slice(-1)}`;
}

/** Shorter ids may be numbers, and the one beside it another task. */
const minOpaqueLength = 16;

/** Ids that begin like those of the task. */
function listSimilarIds({ taskId, requestId }: AcceptedTask): (readonly [string, object])[] {
  const byRequest = [
    "another end of the request_id",
    { request_id: changeEnd(requestId) },
  ] as const;
  if (taskId.length < minOpaqueLength) return [byRequest];
  return [
    byRequest,
    ["another end of the task_id", { task_id: changeEnd(taskId) }],
    ["the beginning of the task_id", { task_id: taskId.slice(0, -4) }],
    ["one character more", { task_id: `${taskId}0` }],
  ];
}

const graceMs = 5000;

const stepsSchema = progressSchema.shape.steps.unwrap();

const cancelSection = "`cancel_task`";

export const cancelCases: readonly ConformanceCase[] = [
  {
    name: "cancel/running",
    level: "required",
    section: cancelSection,
    needs: acceptedCase,
    expects: "cancel_task of a task under way: status canceled with its task_id",
    advice: "Store the state canceled and answer at once, whatever the agent still does.",
    check: async (run) => cancel(run, await run.tasks.toCancel(), "task_id"),
  },
  {
    name: "cancel/again",
    level: "required",
    section: cancelSection,
    needs: ["cancel/running"],
    expects: "cancel_task once more: the same answer",
    advice: "Canceling a canceled task succeeds.",
    check: async (run) => cancel(run, await run.tasks.toCancel(), "task_id"),
  },
  {
    name: "cancel/by-request-id",
    level: "required",
    section: cancelSection,
    needs: acceptedCase,
    expects:
      "cancel_task by request_id, with a reason of 1,000 characters: status canceled with the task_id of the task",
    advice:
      "Find the task by the id of its execute_task too. Where accepted was lost, nobody knows the task_id.",
    check: async (run) => cancel(run, await run.tasks.toCancelByRequest(), "request_id"),
  },
  {
    name: "cancel/at-once",
    level: "required",
    section: cancelSection,
    needs: ["cancel/by-request-id"],
    expects:
      "cancel_task by request_id as soon as the task is known, before execute_task is answered: canceled, and then get_task says so",
    advice:
      "Take a cancel from the moment at which the task is stored. A person may press Cancel at once, and Slack shows that it is done.",
    async check(run) {
      const { canceled, answer, requestId, sessionId } = await run.tasks.canceledAtOnce();
      if (hasReason(canceled, ["task_not_found", "invalid_state"]))
        throw new NotApplicable(`the task could not be canceled at once: ${canceled.came}`);
      expectResult(canceled, "cancel_task");
      if (Object(readPeerResult(answer)).status === "success")
        throw new Deviation(`${answer.came}; before ${canceled.came}`);
      run.step("get_task by request_id");
      const params = { request_id: requestId };
      return expectError(await run.peer.call({ method: "get_task", params, sessionId }), [
        "canceled",
      ]);
    },
  },
  {
    name: "cancel/similar-ids",
    level: "required",
    section: get,
    needs: ["accepted/by-task-id", "cancel/running"],
    expects:
      "get_task and cancel_task by ids that begin like those of a task: task_not_found, error -32061",
    advice: "Compare the whole id, in a column that holds all of it, and by equality.",
    async check(run) {
      const calls = [
        ["get_task", await run.tasks.accepted()] as const,
        // The task is canceled anyway.
        ["cancel_task", await run.tasks.toCancel()] as const,
      ].flatMap(([method, task]) =>
        listSimilarIds(task).map(
          ([what, params]) =>
            [`${method} by ${what}`, { method, params, sessionId: task.sessionId }] as const,
        ),
      );
      return eachStep(run, calls, async (call) => expectUnseenTask(await run.peer.call(call)));
    },
  },
  {
    name: "cancel/then-read",
    level: "required",
    section: get,
    needs: ["cancel/running"],
    expects: "get_task of a canceled task: canceled, error -32076",
    advice: "A canceled task stays canceled. Ignore what the agent says after that.",
    async check(run) {
      const { taskId, sessionId } = await run.tasks.toCancel();
      const answer = await run.peer.call({
        method: "get_task",
        params: { task_id: taskId },
        sessionId,
      });
      return expectError(answer, ["canceled"]);
    },
  },
];

async function cancel(
  { peer }: CaseRun,
  task: AcceptedTask,
  key: "task_id" | "request_id",
): Promise<string> {
  const { taskId, requestId, sessionId } = task;
  const reason = "A person asked for it. ".padEnd(1000, "取り消し");
  const params = key === "task_id" ? { task_id: taskId } : { request_id: requestId, reason };
  const answer = await peer.call({ method: "cancel_task", params, sessionId });
  if (hasReason(answer, ["invalid_state"]) && (await hasEnded(peer, task))) {
    throw new NotApplicable("the slow task ended before it could be canceled (--slow-text)");
  }
  if (expectResult(answer, "cancel_task").task_id !== taskId) throw new Deviation(answer.came);
  return answer.came;
}

/** Reads a task that is over by both of its ids. */
export async function expectSameEnd(
  run: CaseRun,
  { taskId, requestId, sessionId, result }: Succeeded,
): Promise<string> {
  const keys = [
    ["by task_id", { task_id: taskId }] as const,
    ["by request_id", { request_id: requestId }] as const,
  ];
  return eachStep<object>(run, keys, async (params) => {
    const answer = await run.peer.call({ method: "get_task", params, sessionId });
    if (comparable(expectResult(answer, "get_task")) !== comparable(result))
      throw new Deviation(answer.came);
    return answer.came;
  });
}

async function hasEnded(
  peer: CaseRun["peer"],
  { taskId, sessionId }: AcceptedTask,
): Promise<boolean> {
  const answer = await peer.call({ method: "get_task", params: { task_id: taskId }, sessionId });
  return Object(readPeerResult(answer)).status === "success";
}

export const endedCases: readonly ConformanceCase[] = [
  {
    name: "ended/success",
    level: "required",
    section: "Task states",
    needs: ["accepted/by-task-id"],
    expects: "a slow task polled to its end: status success, and the same task_id on the way",
    advice: "Store the result, and answer get_task with it.",
    check: async ({ tasks }) => expectSuccess(await tasks.slowEnd()).last.came,
  },
  {
    name: "ended/ends-wait",
    level: "required",
    section: get,
    needs: ["accepted/by-task-id"],
    expects:
      "get_task with wait_ms, sent again and again: an answer within five seconds of the task's end",
    advice: "End a wait when the task is over. Otherwise a person reads the answer seconds late.",
    async check(run) {
      const { tasks, peer, step, now } = run;
      const { taskId, sessionId } = await tasks.accepted();
      let endedAtMs: number | undefined;
      const end = tasks.slowEnd().then((task) => (endedAtMs = task.endedAtMs));
      end.catch(() => {});
      const params = { task_id: taskId, wait_ms: 20_000 };
      for (let sentAtMs = now(); ; sentAtMs = now()) {
        step("get_task with wait_ms");
        const answer = await peer.call({ method: "get_task", params, sessionId });
        const lateMs = endedAtMs !== undefined && sentAtMs < endedAtMs ? now() - endedAtMs : 0;
        if (lateMs > graceMs)
          throw new Deviation(
            `${answer.came}; the task was over ${Math.floor(lateMs / 1000)} s before`,
          );
        if (Object(readPeerResult(answer)).status !== "accepted") return answer.came;
        await run.sleep(run.waits.pollMs.usual);
      }
    },
  },
  {
    name: "ended/whole-text",
    level: "required",
    section: "Transport",
    needs: ["ended/success"],
    expects:
      "a slow task with a long and unusual text: nothing changed or cut in its result, where the agent repeats its text",
    advice:
      "Store texts whole and as they are: no column of 255 characters, no trimming, all of UTF-8.",
    async check(run) {
      const task = expectSuccess(await run.tasks.slowEnd());
      expectWhole(task, run.texts.slow);
      return task.last.came;
    },
  },
  {
    name: "ended/stays",
    level: "required",
    section: "Task states",
    needs: ["ended/success"],
    expects: "a task that is over, read five times by both ids: the same result",
    advice: "The end of a task never changes, and no read takes it away.",
    async check(run) {
      let came = "";
      for (let times = 0; times < 5; times++)
        came = await expectSameEnd(run, expectSuccess(await run.tasks.slowEnd()));
      return came;
    },
  },
  {
    name: "ended/cancel",
    level: "required",
    section: cancelSection,
    needs: ["ended/success"],
    expects: "cancel_task of a task that is over: invalid_state, error -32063",
    advice: "Only tasks that are not over can be canceled.",
    async check(run) {
      const { taskId, sessionId } = await run.tasks.slowEnd();
      const answer = await run.peer.call({
        method: "cancel_task",
        params: { task_id: taskId },
        sessionId,
      });
      return expectError(answer, ["invalid_state"]);
    },
  },
  {
    name: "ended/answered-at-once",
    level: "idempotent",
    section: get,
    needs: ["execute/answers"],
    expects:
      "get_task by request_id, also in upper case, of a task that was answered at once: the same result",
    advice: "Keep the result after you have sent it. The response may be lost on its way.",
    async check(run) {
      const { requestId, sessionId, result } = await run.tasks.plain();
      const steps = [
        ["as it was sent", requestId] as const,
        ["in upper case", requestId.toUpperCase()] as const,
      ];
      return eachStep<string>(run, steps, async (id) => {
        const answer = await run.peer.call({
          method: "get_task",
          params: { request_id: id },
          sessionId,
        });
        skipWithoutMethod(answer, "get_task");
        if (comparable(expectResult(answer, "get_task")) !== comparable(result))
          throw new Deviation(answer.came);
        return answer.came;
      });
    },
  },
];
