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
  channel,
  type EndedTask,
  expectSuccess,
  followTask,
  newSlackId,
  newThreadTs,
  sendTask,
  startTask,
} from "../tasks.ts";
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
      "two tasks with other texts in one thread, and the second text again with a file: three tasks, each with an answer to its own text and file",
    advice: "The key of a task is its caller and its request id. A thread has many tasks, also with the same text.",
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
      const ids = [first, second, third].map(({ taskId }) => taskId).filter((id) => id !== undefined);
      if (new Set(ids).size < ids.length) throw new Deviation(`${third.last.came}; two tasks have one task_id`);
      if (file.isRead(third)) return third.last.came;
      step("another text with a file, in another thread");
      const elsewhere = { sessionId: newSessionId(), thread_ts: newThreadTs() };
      const other = attach(run);
      const control = await send(run, elsewhere, run.peer.mark(texts.file, elsewhere.sessionId), other.attachments);
      if (other.isRead(control)) throw new Deviation(`${third.last.came}; the agent reads the file of a new text only`);
      return third.last.came;
    },
  },
  {
    name: "isolation/session-of-tasks",
    level: "required",
    section: "Sessions",
    needs: ["accepted/by-task-id"],
    expects:
      "two slow tasks in one session, of which the first one is canceled: get_task of it says so, and the other one ends with an answer to its own text",
    advice: "Cancel one task, not its session. Keep every task under its own id.",
    async check(run) {
      const { peer, texts, step } = run;
      const sessionId = newSessionId();
      const both = [0, 1].map(() => startTask(run, { text: texts.slow }, { sessionId }));
      const [canceled, other] = (await Promise.all(both)) as [EndedTask, EndedTask];
      step("cancel_task of the first task");
      const { task_id } = Object(readPeerResult(canceled.answer));
      if (typeof task_id !== "string") throw new NotApplicable("the slow task was answered at once (--slow-text)");
      const answer = await peer.call({ method: "cancel_task", params: { task_id }, sessionId });
      if (hasReason(answer, ["invalid_state"])) throw new NotApplicable("the slow task ended too soon (--slow-text)");
      if (expectResult(answer, "cancel_task").task_id !== task_id) throw new Deviation(answer.came);
      step("get_task of the first task");
      const params = { request_id: canceled.requestId };
      const again = await peer.call({ method: "get_task", params, sessionId });
      // An endpoint that stores nothing need not know the request.
      if (!hasReason(again, ["task_not_found", "method_not_found"])) expectError(again, ["canceled"]);
      step("the end of the second task");
      const end = expectSuccess(await followTask(run, other));
      return expectAboutItself([{ ...canceled, last: answer }, end]);
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
        const task = await followTask(run, await startTask(run, { text: texts.ask }, { sessionId }));
        const question = expectResult(task.last, "get_task");
        if (question.status !== "input_required") throw new NotApplicable("the agent did not ask again in one session");
        return { ...task, taskId: question.task_id, question };
      };
      const [canceled, answered, open] = [await ask(), await ask(), await ask()];
      step("cancel_task of the first task");
      const params = { task_id: canceled.taskId };
      const answer = await peer.call({ method: "cancel_task", params, sessionId });
      skipWithoutMethod(answer, "cancel_task");
      expectResult(answer, "cancel_task");
      step("answer_task of the second task");
      const { last } = await followTask(run, { ...answered, answer: await reply(run, answered) });
      if (hasReason(last, ["task_not_found", "invalid_state", "canceled"])) throw new Deviation(last.came);
      step("get_task of the third task");
      const still = await readTask(run, open);
      if (!isSameQuestion(expectResult(still, "get_task"), open.question)) throw new Deviation(still.came);
      step("get_task of the first task");
      return expectError(await readTask(run, canceled), ["canceled"]);
    },
  },
];

export const fileCases: readonly ConformanceCase[] = [
  {
    name: "execute/files",
    level: "required",
    section: "`success`",
    needs: ["execute/answers"],
    expects: "the files of an answer, at once, by get_task and by the same request again: the same bytes",
    advice: "Store files with the result, byte by byte, and send all of them at every read.",
    async check(run) {
      const sessionId = newSessionId();
      const text = run.peer.mark(run.texts.file, sessionId);
      const task = await send(run, { sessionId, thread_ts: newThreadTs() }, text, attach(run).attachments);
      const { result, requestId } = expectSuccess(task);
      if ((result.artifacts ?? []).length === 0) throw new NotApplicable("the answer has no files (--file-text)");
      const keys: [string, object][] = [["get_task by request_id", { request_id: requestId }]];
      if (task.taskId !== undefined) keys.push(["get_task by task_id", { task_id: task.taskId }]);
      const came = await eachStep(run, keys, async (params) => {
        const answer = await run.peer.call({ method: "get_task", params, sessionId });
        // An endpoint that stores nothing need not know the request.
        const again = readPeerResult(answer);
        if (again === undefined || comparable(again) === comparable(readPeerResult(task.last))) return answer.came;
        throw new Deviation(`first ${task.last.came}; then ${answer.came}`);
      });
      if (!run.isIdempotent) return came;
      run.step("execute_task again");
      return expectSameOutcome(expectSuccess(task), await repeat(run, task));
    },
  },
];

type Thread = { sessionId: string; thread_ts: string };

async function send(run: CaseRun, thread: Thread, text: string, attachments?: object[]): Promise<EndedTask> {
  const { sessionId, thread_ts } = thread;
  const params = { channel, session_id: sessionId, thread_ts, text, ...(attachments && { attachments }) };
  const task = await followTask(run, await sendTask(run, { requestId: randomUUID(), sessionId, params }));
  // An agent may fail at a text without a file, or at a file that it cannot read.
  if ("error" in (task.last.response ?? {})) {
    throw new NotApplicable(`the agent fails at ${JSON.stringify(text.slice(0, 40))}: ${task.last.came} (--file-text)`);
  }
  expectSuccess(task);
  return task;
}

/** A file with a name that nobody knows. `isRead`: the agent has read it, or names it in its answer. */
function attach({ files }: CaseRun) {
  const id = newSlackId("F");
  const name = `${id.toLowerCase()}.txt`;
  const nowhere = { id, mimetype: "text/plain", size: 12, url: `https://files.sekisho.invalid/${id}` };
  return {
    attachments: [{ ...(files?.create(id) ?? nowhere), name }],
    isRead: ({ last }: EndedTask) => (files?.count(id) ?? 0) > 0 || Buffer.from(last.body).includes(name),
  };
}
