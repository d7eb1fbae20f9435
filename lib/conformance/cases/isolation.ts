/** Cases of tasks that must not mix: at the same time, and of different callers. */
import { randomUUID } from "node:crypto";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import {
  eachStep,
  expectError,
  expectUnseenTask,
  hasReason,
  isRefusedCaller,
  namesReason,
  readPeerResult,
} from "../expect.ts";
import { markPattern, type PeerOfCase } from "../peer.ts";
import {
  type EndedTask,
  followTask,
  markParams,
  newSlackId,
  newThreadTs,
  type Question,
  runToSuccess,
  type SentTask,
  sendTask,
  startTask,
} from "../tasks.ts";
import { listReplies } from "./question-fields.ts";

const ownAdvice =
  "Keep each task under its authenticated caller, and find it for that caller alone. task_not_found tells others the least.";

export const isolationCases: readonly ConformanceCase[] = [
  {
    name: "isolation/side-by-side",
    level: "required",
    section: "Sessions",
    needs: ["execute/answers"],
    expects:
      "six tasks at the same time, each in a session of its own: each answer is about its own text",
    advice: "Keep nothing of a task in a variable that all requests share.",
    async check(run) {
      const { texts } = run;
      const all = await Promise.all(
        Array.from({ length: 6 }, () => runToSuccess(run, { text: texts.plain })),
      );
      for (const one of all) {
        expectOnlyOwn(
          one,
          all.filter((other) => other !== one),
        );
      }
      return `${all.length} answers, none of which holds the text of another task`;
    },
  },
  {
    name: "isolation/one-session",
    level: "required",
    section: "Sessions",
    needs: ["accepted/by-task-id"],
    expects:
      "a second task in the session of a slow one, while that runs: each answer is about its own text",
    advice: "Keep each task under its own id. A session has many tasks, also at the same time.",
    async check(run) {
      const slow = await run.tasks.accepted();
      const { sessionId } = slow;
      run.step("the second task");
      const second = await followTask(
        run,
        await startTask(run, { text: run.texts.plain }, { sessionId }),
      );
      run.step("the end of the slow task");
      const first = await run.tasks.slowEnd();
      return expectAboutItself([first, second]);
    },
  },
  {
    name: "isolation/unknown-caller-runs-nothing",
    level: "required",
    section: "Transport",
    needs: ["authentication/nobody"],
    expects:
      "execute_task without a token, and then get_task of its id with the token: no such task, and no file was read",
    advice: "Refuse the caller before the task is created.",
    async check(run) {
      if (!run.peer.callers.has("nobody")) throw new NotApplicable(run.peer.whyNot);
      const id = randomUUID();
      const { sessionId } = run.peer;
      const { files, texts } = run;
      const attachments = files === undefined ? {} : { attachments: [files.create(id)] };
      const text = files === undefined ? texts.plain : texts.file;
      const params = { ...markParams(run.peer, { text }, sessionId), ...attachments };
      run.step("execute_task without a token");
      const refusal = await run.peer.call({
        method: "execute_task",
        params,
        id,
        sessionId,
        as: "nobody",
      });
      await run.sleep(run.waits.hangUpMs);
      if ((files?.count(id) ?? 0) > 0)
        throw new Deviation(`${refusal.came}; and the agent read its file`);
      run.step("get_task with the token");
      const answer = await run.peer.call({
        method: "get_task",
        params: { request_id: id },
        sessionId,
      });
      // Whether the number is right is the matter of `tasks/unknown-get`.
      if (namesReason(answer, ["task_not_found"])) return answer.came;
      return expectError(answer, ["task_not_found", "method_not_found"]);
    },
  },
  {
    name: "isolation/another-caller-reads",
    level: "required",
    section: "Transport",
    needs: ["accepted/by-task-id"],
    expects:
      "get_task, also held, cancel_task and answer_task of a task, by another caller: task_not_found, error -32061, or permission_denied",
    advice: ownAdvice,
    async check(run) {
      return expectUnseen(await createOtherRun(run), await run.tasks.accepted());
    },
  },
  {
    name: "isolation/another-caller-reads-the-end",
    level: "required",
    section: "Transport",
    needs: ["execute/answers"],
    expects:
      "get_task, cancel_task and answer_task of a task that is over, by another caller: task_not_found, error -32061, or permission_denied",
    advice: ownAdvice,
    async check(run) {
      return expectUnseen(await createOtherRun(run), await run.tasks.plain());
    },
  },
  {
    name: "isolation/task-of-another-caller",
    level: "required",
    section: "Transport",
    needs: ["execute/answers"],
    expects:
      "a task of another caller, while it runs and after its end, by the first one: task_not_found, or permission_denied",
    advice: ownAdvice,
    async check(run) {
      const another = await createOtherRun(run);
      const startedTask = await startTask(another, { text: run.texts.slow });
      const { task_id: taskId } = Object(readPeerResult(startedTask.answer));
      await expectUnseen(run, { ...startedTask, taskId });
      run.step("cancel_task by the other caller");
      await another.peer.call({
        method: "cancel_task",
        params: { request_id: startedTask.requestId },
      });
      run.step("another task of the other caller");
      return expectUnseen(run, await runToSuccess(another, { text: run.texts.plain }));
    },
  },
  {
    name: "isolation/session-of-another-caller",
    level: "required",
    section: "Sessions",
    needs: ["execute/answers"],
    expects:
      "two callers with the same session id, channel, thread and person, by turns: no answer holds the text of the other caller",
    advice:
      "Keep what you remember of a conversation under its authenticated caller and its session id together. A channel, a thread and a person prove nothing.",
    async check(run) {
      const { sessionId } = run.peer;
      const another = await createOtherRun(run);
      const params = { text: run.texts.plain, thread_ts: newThreadTs(), user_id: newSlackId("U") };
      const send = async (by: CaseRun) =>
        followTask(by, await startTask(by, params, { sessionId }));
      run.step("the first caller");
      const first = await send(run);
      run.step("the second caller in the same session");
      const second = await send(another);
      expectOnlyOwn(second, [first]);
      run.step("the first caller again");
      return expectOnlyOwn(await send(run), [second]);
    },
  },
  {
    name: "isolation/another-caller-answers",
    level: "required",
    section: "Transport",
    needs: ["question/asks"],
    expects:
      "get_task and answer_task of a task that asks, in words, by an option and by fields, by another caller: task_not_found, error -32061, or permission_denied",
    advice: ownAdvice,
    async check(run) {
      const another = await createOtherRun(run);
      const came = await expectUnseen(another, await run.tasks.askingForText());
      const form = await run.tasks.askingWithFieldsAgain().catch(() => undefined);
      return form === undefined ? came : expectUnseen(another, form);
    },
  },
  {
    name: "isolation/files-of-another-caller",
    level: "required",
    section: "`execute_task`",
    needs: ["execute/answers"],
    expects:
      "a file with the id of another caller's file, at another address: it is read there, by an agent that reads a file with a new id",
    advice:
      "Keep no file under its id alone. Whoever names the id of another caller's file would get its content.",
    async check(run) {
      const { files, step } = run;
      if (files === undefined)
        throw new NotApplicable("the endpoint cannot read files of this machine");
      const another = await createOtherRun(run);
      const readFile = async (by: CaseRun, id: string) => {
        const key = newSlackId("F");
        const attachments = [{ ...files.create(key), id }];
        const sentTask = await startTask(by, { text: run.texts.file, attachments });
        const { last } = await followTask(by, sentTask);
        return { last, isRead: files.count(key) > 0 };
      };
      const id = newSlackId("F");
      step("a file of the first caller");
      const first = await readFile(run, id);
      if (!first.isRead)
        throw new NotApplicable(`the agent read no file at "${run.texts.file}" (--file-text)`);
      step("a file of the second caller with the same id");
      const second = await readFile(another, id);
      if (second.isRead) return second.last.came;
      step("a file of the second caller with another id");
      const control = await readFile(another, newSlackId("F"));
      if (control.isRead)
        throw new Deviation(`${second.last.came}; only the file with a new id was read`);
      throw new NotApplicable(`the agent reads no file of the second caller: ${control.last.came}`);
    },
  },
  {
    name: "isolation/another-caller-repeats",
    level: "required",
    section: "`execute_task`",
    needs: ["execute/answers"],
    // After that the other caller has a task under the same request id.
    after: ["isolation/another-caller-reads-the-end"],
    expects:
      "the request of a task sent by another caller: a task of its own, never the first one's result or already_exists",
    advice: "The key of a task is its caller and its request id together.",
    async check(run) {
      const another = await createOtherRun(run);
      const first = await run.tasks.plain();
      const { sessionId } = run.peer;
      const params = markParams(run.peer, { text: run.texts.plain }, sessionId);
      const answer = await another.peer.call({
        method: "execute_task",
        id: first.requestId,
        params,
        sessionId,
      });
      const marks = marksOf(first.params);
      const holdsFirst = marks.some((mark) => Buffer.from(answer.body).includes(mark));
      if (holdsFirst || hasReason(answer, ["already_exists"])) throw new Deviation(answer.came);
      return answer.came;
    },
  },
];

/** The run as the second caller sees it. */
async function createOtherRun(run: CaseRun): Promise<CaseRun> {
  const { peer } = run;
  if (!peer.callers.has("another"))
    throw new NotApplicable("there is no second caller (--other-auth)");
  const call: PeerOfCase["call"] = (call) => peer.call({ ...call, as: "another" });
  const answer = await call({ method: "sekisho.no_such_method" });
  if (isRefusedCaller(answer))
    throw new NotApplicable(`the second caller is refused: ${answer.came}`);
  return { ...run, peer: { ...peer, call } };
}

/** The caller of the run knows the ids of a task that is not its own. */
async function expectUnseen(
  run: CaseRun,
  task: Pick<SentTask, "requestId" | "sessionId"> & {
    taskId: string | undefined;
    question?: Question;
  },
): Promise<string> {
  const { taskId, requestId, sessionId, question } = task;
  const byTask = { task_id: taskId };
  const keys: object[] = [{ request_id: requestId }, ...(taskId === undefined ? [] : [byTask])];
  const calls = keys.flatMap((key): [method: string, params: object][] => [
    ["get_task", key],
    ["get_task", { ...key, wait_ms: 100 }],
  ]);
  if (taskId !== undefined) {
    calls.push(["answer_task", { ...byTask, text: "yes" }]);
    const replies = question === undefined ? [] : listReplies({ taskId, question });
    for (const params of replies) calls.push(["answer_task", params]);
  }
  for (const key of keys) calls.push(["cancel_task", key]);
  const steps = calls.map(
    ([method, params]) =>
      [`${method} by ${Object.keys(params).join(", ")}`, { method, params, sessionId }] as const,
  );
  return eachStep(run, steps, async (call) => expectUnseenTask(await run.peer.call(call)));
}

function marksOf({ text }: SentTask["params"]): readonly string[] {
  return String(text).match(markPattern) ?? [];
}

/** Cases of several tasks in one session. An agent may remember its conversation, but it answers the question of each task. */
export function expectAboutItself(tasks: readonly Pick<EndedTask, "last" | "params">[]): string {
  const answers = tasks.map(({ last, params }) => {
    const body = Buffer.from(last.body).toString();
    return { last, holds: (mark: string) => body.includes(mark), own: marksOf(params) };
  });
  for (const { last, holds, own } of answers) {
    const others = answers.flatMap((other) => other.own).filter((mark) => !own.includes(mark));
    if (others.some(holds) && !own.some(holds))
      throw new Deviation(`${last.came}; that is about another task`);
  }
  return answers.map(({ last }) => last.came).join("; ");
}

/** The end of a task holds no mark of the others. */
function expectOnlyOwn({ last }: EndedTask, others: readonly SentTask[]): string {
  const marks = others.flatMap(({ params }) => marksOf(params));
  const body = Buffer.from(last.body).toString();
  if (marks.some((mark) => body.includes(mark)))
    throw new Deviation(`${last.came}; that holds the text of another task`);
  return last.came;
}

/** Sends what attackers send. The cases that sum up look for leaks in the answers. */
export const hostileCases: readonly ConformanceCase[] = [
  {
    name: "errors/hostile-params",
    level: "required",
    section: "Errors",
    needs: ["execute/answers"],
    expects:
      "params that break careless code: a JSON-RPC answer each, and not internal, error -32603",
    advice: "Check the types of all params before you use them, and treat ids as data.",
    async check(run) {
      const { peer } = run;
      const text = run.texts.plain;
      const hostile: readonly (readonly [string, string, object])[] = [
        ["execute_task", "attachments that are no list", { channel: "C1", text, attachments: "a" }],
        ["execute_task", "a history that is no list", { channel: "C1", text, history: { a: 1 } }],
        ["execute_task", "a channel that is an object", { channel: { toString: 1 }, text }],
        ["get_task", "a task_id that is an object", { task_id: { $ne: null } }],
        ["get_task", "a task_id with quotes", { task_id: `';"\\$(id){{7*7}}` }],
        ["answer_task", "an option_id that is a list", { task_id: "a", option_id: [1] }],
      ];
      const steps = hostile.map(
        ([method, what, params]) => [`${method} with ${what}`, { method, params }] as const,
      );
      return eachStep(run, steps, async (call) => {
        const answer = await peer.call(call);
        if (answer.response === undefined || hasReason(answer, ["internal"]))
          throw new Deviation(answer.came);
        return answer.came;
      });
    },
  },
  {
    name: "execute/nul",
    level: "strict",
    section: "`execute_task`",
    needs: ["execute/answers"],
    expects: "a text with a NUL character: an answer, and not internal, error -32603",
    advice: "Take the character, or refuse the params. Some databases cannot store it.",
    async check(run) {
      const sessionId = run.peer.sessionId;
      const params = markParams(run.peer, { text: `${run.texts.plain} \u0000 \u0007` }, sessionId);
      const { answer } = await sendTask(run, { requestId: randomUUID(), sessionId, params });
      if (answer.response === undefined || hasReason(answer, ["internal"]))
        throw new Deviation(answer.came);
      return answer.came;
    },
  },
];
