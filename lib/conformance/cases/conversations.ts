/** Cases of several tasks in one conversation. Each is a task of its own, whatever it shares with another one. */

import { randomUUID } from "node:crypto";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import {
  comparable,
  eachStep,
  expectError,
  expectResult,
  hasReason,
  readPeerResult,
  skipWithoutMethod,
} from "../expect.ts";
import { newSessionId } from "../peer.ts";
import {
  type AskingTask,
  channel,
  type EndedTask,
  expectSuccess,
  followTask,
  markParams,
  newFile,
  newSlackId,
  newThreadTs,
  sendTask,
  startTask,
} from "../tasks.ts";
import { outcomes } from "./failures.ts";
import { expectSameOutcome, repeat } from "./idempotency.ts";
import { expectAboutItself } from "./isolation.ts";
import { isSameQuestion, readTask, reply } from "./questions.ts";

export const conversationCases: readonly ConformanceCase[] = [
  {
    name: "isolation/one-thread",
    level: "required",
    section: "`execute_task`",
    needs: ["execute/answers"],
    expects:
      "two tasks with other texts in one thread, and the second text again, twice with the same file: four tasks, each with an answer to its own text and file",
    advice:
      "The key of a task is its caller and its request id. A thread has many tasks, also with the same text.",
    async check(run) {
      const { texts, step } = run;
      const thread = { sessionId: newSessionId(), thread_ts: newThreadTs() };
      step("the first task of the thread");
      const first = await send(run, thread, run.peer.mark(texts.plain, thread.sessionId));
      step("another text in the thread");
      const text = run.peer.mark(texts.file, thread.sessionId);
      const second = await send(run, thread, text);
      expectAboutItself([first, second]);
      step("the same text again, with a file");
      const file = attach(run);
      const third = await send(run, thread, text, file.attachments);
      step("the same text and file once more");
      const fourth = await send(run, thread, text, file.attachments);
      const all = [first, second, third, fourth];
      const ids = all.map(({ taskId }) => taskId).filter((id) => id !== undefined);
      if (new Set(ids).size < ids.length)
        throw new Deviation(`${fourth.last.came}; two tasks have one task_id`);
      if (run.isIdempotent) await expectKnown(run, all);
      if (file.isRead(third)) return third.last.came;
      step("another text with a file, in another thread");
      const elsewhere = { sessionId: newSessionId(), thread_ts: newThreadTs() };
      const other = attach(run);
      const control = await send(
        run,
        elsewhere,
        run.peer.mark(texts.file, elsewhere.sessionId),
        other.attachments,
      );
      if (other.isRead(control))
        throw new Deviation(`${third.last.came}; the agent reads the file of a new text only`);
      return third.last.came;
    },
  },
  {
    name: "isolation/session-of-tasks",
    level: "required",
    section: "Sessions",
    needs: ["accepted/by-task-id"],
    expects:
      "three slow tasks in one thread, of which two have the same text and one of these is canceled: get_task of it says so, the other one goes on, and the third one ends with an answer to its own text",
    advice:
      "Cancel one task, not its session. Keep every task under its own id: a person may send the same text once more.",
    async check(run) {
      const { peer, texts, step } = run;
      const sessionId = newSessionId();
      const thread_ts = newThreadTs();
      const start = () => startTask(run, { text: texts.slow, thread_ts }, { sessionId });
      const params = markParams(peer, { text: texts.slow, thread_ts }, sessionId);
      const send = () => sendTask(run, { requestId: randomUUID(), sessionId, params });
      const [canceledTask, same, other] = await Promise.all([send(), send(), start()]);
      step("cancel_task of the first task");
      const { task_id } = Object(readPeerResult(canceledTask.answer));
      if (typeof task_id !== "string")
        throw new NotApplicable("the slow task was answered at once (--slow-text)");
      const answer = await peer.call({ method: "cancel_task", params: { task_id }, sessionId });
      if (hasReason(answer, ["invalid_state"]))
        throw new NotApplicable("the slow task ended too soon (--slow-text)");
      if (expectResult(answer, "cancel_task").task_id !== task_id) throw new Deviation(answer.came);
      step("get_task of the first task");
      const byRequest = { request_id: canceledTask.requestId };
      const again = await peer.call({ method: "get_task", params: byRequest, sessionId });
      // An endpoint that stores nothing need not know the request.
      if (!hasReason(again, ["task_not_found", "method_not_found"]))
        expectError(again, ["canceled"]);
      step("get_task of the task with the same text");
      const { task_id: sameId } = Object(readPeerResult(same.answer));
      if (sameId === task_id)
        throw new Deviation(`${same.answer.came}; two tasks have one task_id`);
      if (typeof sameId === "string") {
        const key = { task_id: sameId };
        const running = await peer.call({ method: "get_task", params: key, sessionId });
        await peer.call({ method: "cancel_task", params: key, sessionId });
        expectResult(running, "get_task");
      } else expectResult(same.answer, "execute_task");
      step("the end of the third task");
      const end = expectSuccess(await followTask(run, { ...other, sessionId }));
      return expectAboutItself([{ ...canceledTask, last: answer }, end]);
    },
  },
  {
    name: "isolation/session-of-questions",
    level: "required",
    section: "Sessions",
    needs: ["question/read-again"],
    expects:
      "three tasks in one session that ask, of which one is canceled and one is answered: the third one still asks its question",
    advice: "Keep each question under its task, and answer it by the task_id, not by the session.",
    async check(run) {
      const { peer, texts, step } = run;
      const sessionId = newSessionId();
      const ask = async () => {
        const task = await followTask(
          run,
          await startTask(run, { text: texts.ask }, { sessionId }),
        );
        const question = expectResult(task.last, "get_task");
        if (question.status === "input_required")
          return { ...task, taskId: question.task_id, question };
        step("get_task of the questions before");
        for (const asking of questions) await expectOpen(run, asking);
        throw new NotApplicable("the agent did not ask again in one session");
      };
      const questions: AskingTask[] = [];
      for (const what of ["the first", "the second", "the third"]) {
        step(`${what} task of the session`);
        questions.push(await ask());
      }
      const [canceledTask, answeredTask, open] = questions as [AskingTask, AskingTask, AskingTask];
      step("cancel_task of the first task");
      const params = { task_id: canceledTask.taskId };
      const answer = await peer.call({ method: "cancel_task", params, sessionId });
      skipWithoutMethod(answer, "cancel_task");
      expectResult(answer, "cancel_task");
      step("answer_task of the second task");
      const { last } = await followTask(run, {
        ...answeredTask,
        answer: await reply(run, answeredTask),
      });
      if (hasReason(last, ["task_not_found", "invalid_state", "canceled"]))
        throw new Deviation(last.came);
      step("get_task of the third task");
      await expectOpen(run, open);
      step("get_task of the first task");
      return expectError(await readTask(run, canceledTask), ["canceled"]);
    },
  },
];

/** A task with a question is not answered by another task. */
async function expectOpen(run: CaseRun, task: AskingTask): Promise<void> {
  const answer = await readTask(run, task);
  if (!isSameQuestion(expectResult(answer, "get_task"), task.question))
    throw new Deviation(answer.came);
}

export const fileCases: readonly ConformanceCase[] = [
  {
    name: "execute/every-file",
    level: "required",
    section: "`execute_task`",
    needs: ["execute/answers"],
    expects:
      "three files of one name: all of them are read, by an agent that reads each of them where it comes alone",
    advice: "Give the agent every attachment. Tell files apart by their id, because names repeat.",
    async check(run) {
      const { files, step } = run;
      if (files === undefined)
        throw new NotApplicable("the endpoint cannot read files of this machine");
      // A file of another case may have the usual name.
      const create = (name: string) => ({ ...files.create(newSlackId("F")), name });
      const [name, otherName] = [`${randomUUID()}.txt`, `${randomUUID()}.txt`];
      const readFiles = async (attachments: { id: string }[]) => {
        const sessionId = newSessionId();
        const text = run.peer.mark(run.texts.file, sessionId);
        const { last } = await send(
          run,
          { sessionId, thread_ts: newThreadTs() },
          text,
          attachments,
        );
        return { last, unread: attachments.filter(({ id }) => files.count(id) === 0) };
      };
      step("three files");
      const { last, unread: unreadFiles } = await readFiles([
        create(name),
        create(name),
        create(name),
      ]);
      if (unreadFiles.length === 0) return last.came;
      step("one file");
      const single = await readFiles([create(otherName)]);
      if (single.unread.length === 0)
        throw new Deviation(`${last.came}; ${unreadFiles.length} of three files were not read`);
      throw new NotApplicable(`the agent read no file at "${run.texts.file}" (--file-text)`);
    },
  },
  {
    name: "execute/files",
    level: "required",
    section: "`success`",
    needs: ["execute/answers"],
    expects:
      "the files of an answer, at once, by get_task and by the same request again: the same bytes",
    advice: "Store files with the result, byte by byte, and send all of them at every read.",
    async check(run) {
      const sessionId = newSessionId();
      const text = run.peer.mark(run.texts.file, sessionId);
      const task = await send(
        run,
        { sessionId, thread_ts: newThreadTs() },
        text,
        attach(run).attachments,
      );
      const { result, requestId } = expectSuccess(task);
      if ((result.artifacts ?? []).length === 0)
        throw new NotApplicable("the answer has no files (--file-text)");
      const keys: [string, object][] = [["get_task by request_id", { request_id: requestId }]];
      if (task.taskId !== undefined) keys.push(["get_task by task_id", { task_id: task.taskId }]);
      const came = await eachStep(run, keys, async (params) => {
        const answer = await run.peer.call({ method: "get_task", params, sessionId });
        // An endpoint that stores nothing need not know the request.
        const again = readPeerResult(answer);
        if (again === undefined || comparable(again) === comparable(readPeerResult(task.last)))
          return answer.came;
        throw new Deviation(`first ${task.last.came}; then ${answer.came}`);
      });
      if (!run.isIdempotent) return came;
      run.step("execute_task again");
      return expectSameOutcome(expectSuccess(task), await repeat(run, task));
    },
  },
];

type Thread = { sessionId: string; thread_ts: string };

async function send(
  run: CaseRun,
  thread: Thread,
  text: string,
  attachments?: object[],
): Promise<EndedTask> {
  const { sessionId, thread_ts } = thread;
  const params = {
    channel,
    session_id: sessionId,
    thread_ts,
    text,
    ...(attachments && { attachments }),
  };
  const task = await followTask(
    run,
    await sendTask(run, { requestId: randomUUID(), sessionId, params }),
  );
  // An agent may fail at a text without a file, or at a file that it cannot read.
  if (hasReason(task.last, agentErrors)) {
    throw new NotApplicable(
      `the agent fails at ${JSON.stringify(text.slice(0, 40))}: ${task.last.came} (--file-text)`,
    );
  }
  expectSuccess(task);
  return task;
}

const agentErrors = [...outcomes, "internal"] as const;

/** An endpoint that deduplicates knows each request by its own id. */
async function expectKnown({ peer, step }: CaseRun, tasks: readonly EndedTask[]): Promise<void> {
  for (const { requestId, sessionId } of tasks) {
    step("get_task by request_id");
    const answer = await peer.call({
      method: "get_task",
      params: { request_id: requestId },
      sessionId,
    });
    if (hasReason(answer, ["task_not_found"])) throw new Deviation(answer.came);
  }
}

/** A file with a name that nobody knows. `isRead`: the agent has read it, or names it in its answer. */
function attach({ files }: CaseRun) {
  const id = newSlackId("F");
  const name = `${id.toLowerCase()}.txt`;
  return {
    attachments: [files === undefined ? newFile(name) : { ...files.create(id), name }],
    isRead: ({ last }: EndedTask) =>
      (files?.count(id) ?? 0) > 0 || Buffer.from(last.body).includes(name),
  };
}
