/** Cases of repeated requests: the same request id is one task, which runs once. */
import { randomUUID } from "node:crypto";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import { comparable, eachStep, expectError, expectResult, readPeerError } from "../expect.ts";
import { newSessionId, type PeerAnswer } from "../peer.ts";
import {
  channel,
  type EndedTask,
  expectSuccess,
  followTask,
  markParams,
  newFile,
  newSlackId,
  newThreadTs,
  type SentTask,
  type Succeeded,
  sendTask,
  startTask,
} from "../tasks.ts";
import { expectSameTask, loseResponse } from "./accepted.ts";
import { botToken } from "./execute.ts";
import { isSameQuestion } from "./questions.ts";

const common = {
  level: "idempotent",
  section: "`execute_task`",
  needs: ["execute/answers"],
} as const;
const storeAdvice =
  "Store each task under the caller and the request id before the agent starts, and answer a repetition from the store.";
const contentAdvice =
  "Compare channel, text, thread_ts, user_id and the ids of the attachments with what is stored, and nothing else.";

export const idempotencyCases: readonly ConformanceCase[] = [
  {
    name: "idempotency/same-outcome",
    ...common,
    expects:
      "the same id, also in upper case, and content again: the stored outcome, word for word",
    advice: storeAdvice,
    async check(run) {
      const first = await run.tasks.plain();
      expectSameOutcome(first, await repeat(run, first));
      run.step("the id in upper case");
      const { correlation_id: _own, ...result } = first.result;
      const again = await repeat(run, { ...first, requestId: first.requestId.toUpperCase() });
      const { correlation_id: _other, ...other } = expectResult(
        again.last,
        "execute_task",
      ) as typeof first.result;
      if (comparable(result) === comparable(other)) return again.last.came;
      throw new Deviation(`first ${first.last.came}; then ${again.last.came}`);
    },
  },
  {
    name: "idempotency/changing-params",
    ...common,
    expects:
      "the same id with another history, time left, session, workspace, callback, bot token, and other names and addresses of files: still the same task",
    advice: contentAdvice,
    async check(run) {
      const sample = newFile("a.txt");
      const file = (signature: string) => ({
        ...sample,
        url: `${sample.url}?signature=${signature}`,
      });
      const params = { text: run.texts.plain, timeout_ms: 60_000, attachments: [file("a")] };
      const first = await followTask(run, await startTask(run, params));
      const history = [{ role: "user", text: "Good morning" }];
      const { sessionId } = run.peer;
      const other = {
        ...file("b"),
        name: "b.txt",
        expires_at: new Date(Date.now() + 3600_000).toISOString(),
      };
      const changedParams = {
        ...{
          timeout_ms: 50_000,
          history,
          session_id: sessionId,
          team_id: newSlackId("T"),
          callback: true,
        },
        ...{ bot_token: botToken, attachments: [other] },
      };
      const again = await repeat(
        run,
        { ...first, params: { ...first.params, ...changedParams } },
        sessionId,
      );
      // An agent may fail at a file that it cannot read.
      if (readPeerError(first.last) !== undefined) return expectSameError(first.last, again.last);
      return expectSameOutcome(expectSuccess(first), again);
    },
  },
  {
    name: "idempotency/other-content",
    ...common,
    expects:
      "the same id with another text, channel, thread, person or file: already_exists, error -32068, and the first one is still known",
    advice: contentAdvice,
    async check(run) {
      const file = newFile("a.txt");
      const first = await followTask(
        run,
        await startTask(run, { text: run.texts.plain, attachments: [file] }),
      );
      const others = [
        ["another text", { text: `${first.params.text} Another text.` }] as const,
        [
          "another text of the same length",
          { text: `${String(first.params.text).slice(0, -1)}]` },
        ] as const,
        ["another channel", { channel: newSlackId("C") }] as const,
        ["another thread", { thread_ts: newThreadTs() }] as const,
        ["another person", { user_id: newSlackId("U") }] as const,
        ["another file", { attachments: [{ ...file, id: newSlackId("F") }] }] as const,
        ["no file", { attachments: undefined }] as const,
      ];
      await eachStep<object>(run, others, async (over) => {
        const again = await sendTask(run, { ...first, params: { ...first.params, ...over } });
        return expectError(again.answer, ["already_exists"]);
      });
      run.step("the first request again");
      const again = await repeat(run, first);
      if (readPeerError(first.last) !== undefined) return expectSameError(first.last, again.last);
      return expectSameOutcome(expectSuccess(first), again);
    },
  },
  {
    name: "idempotency/at-the-same-time",
    ...common,
    expects: "the same request three times at the same time: one task, one outcome",
    advice: "Create the task by one conditional write, so that of two at the same time one wins.",
    async check(run) {
      const startedTask = await start(run, { text: run.texts.plain });
      const all = await Promise.all(
        [1, 2, 3].map(async () => followTask(run, await sendTask(run, startedTask))),
      );
      const [first, ...others] = all.map(expectSuccess);
      if (first === undefined) throw new Error("There is no first task.");
      return others.map((other) => expectSameOutcome(first, other)).join("; ");
    },
  },
  {
    name: "idempotency/not-run-again",
    ...common,
    needs: ["accepted/by-task-id"],
    expects: "an accepted task sent again: accepted with the same task_id, or its result",
    advice: storeAdvice,
    async check(run) {
      const { taskId, ...task } = await run.tasks.accepted();
      return expectSameTask((await sendTask(run, task)).answer, taskId);
    },
  },
  {
    name: "idempotency/accepted-twice",
    ...common,
    expects:
      "a slow task sent twice at the same time: accepted with the same task_id, or one result",
    advice: "Create the task by one conditional write, so that of two at the same time one wins.",
    async check(run) {
      const startedTask = await start(run, { text: run.texts.slow });
      const [one, other] = await Promise.all([
        sendTask(run, startedTask),
        sendTask(run, startedTask),
      ]);
      if (readPeerError(one.answer) !== undefined && readPeerError(other.answer) !== undefined) {
        throw new NotApplicable(`to "${run.texts.slow}" came ${one.answer.came}`);
      }
      const [first, second] = [
        expectResult(one.answer, "execute_task"),
        expectResult(other.answer, "execute_task"),
      ];
      if ("task_id" in first) {
        const params = { task_id: first.task_id };
        await run.peer.call({ method: "cancel_task", params, sessionId: startedTask.sessionId });
      }
      const isSame = "task_id" in first && "task_id" in second && first.task_id === second.task_id;
      const isOver = first.status === "success" || second.status === "success";
      if (isSame || isOver) return other.answer.came;
      throw new Deviation(`first ${one.answer.came}; then ${other.answer.came}`);
    },
  },
  {
    name: "idempotency/after-hanging-up",
    ...common,
    needs: ["accepted/lost-response"],
    expects: "a slow task whose caller hung up, sent again: the same task_id, or its result",
    advice: storeAdvice,
    async check(run) {
      const { sessionId } = await run.tasks.toCancelByRequest();
      const hangUpMs = Math.ceil(
        Math.max(run.waits.hangUpMs, 3 * (await run.tasks.plain()).answer.tookMs),
      );
      const { task, answer } = await loseResponse(run, { hangUpMs, sessionId });
      const readResult = expectResult(answer, "get_task");
      run.step("execute_task again");
      const again = (await sendTask(run, task)).answer;
      await run.peer.call({
        method: "cancel_task",
        params: { request_id: task.requestId },
        sessionId,
      });
      const { task_id: taskId } = Object(readResult);
      return typeof taskId === "string" ? expectSameTask(again, taskId) : again.came;
    },
  },
  {
    name: "idempotency/asking",
    ...common,
    needs: ["question/read-again"],
    expects: "the request of a task that asks, sent again: the same task_id and the same question",
    advice: storeAdvice,
    async check(run) {
      const task = await run.tasks.askingAgain();
      const { last } = await repeat(run, task);
      if (!isSameQuestion(expectResult(last, "execute_task"), task.question))
        throw new Deviation(last.came);
      return last.came;
    },
  },
  {
    name: "idempotency/files-read-once",
    ...common,
    expects:
      "a task with a file, sent twice at the same time, once with another channel and once after its end in another session: the file is read as often as by one task",
    advice: storeAdvice,
    async check(run) {
      const { files } = run;
      if (files === undefined)
        throw new NotApplicable("the endpoint cannot read files of this machine");
      const usual = await countReads(run, 1);
      if (usual === 0)
        throw new NotApplicable(`the agent read no file at "${run.texts.file}" (--file-text)`);
      run.step("the same request again");
      const reads = await countReads(run, 3, { conflict: true });
      if (reads > usual)
        throw new Deviation(
          `one task reads a file ${usual} times; three requests read it ${reads} times`,
        );
      return `the file was read ${reads} times`;
    },
  },
  {
    name: "idempotency/canceled",
    ...common,
    needs: ["cancel/then-read"],
    expects: "a canceled task sent again: canceled, error -32076",
    advice: "A repetition gets the stored outcome, also where that is canceled.",
    check: async (run) =>
      expectError((await repeat(run, await run.tasks.toCancel())).last, ["canceled"]),
  },
  {
    name: "idempotency/failed",
    ...common,
    needs: ["failure/error"],
    expects: "a failed task sent again: the same error",
    advice: "A repetition gets the stored outcome, also where that is a failure.",
    async check(run) {
      const first = await run.tasks.failed();
      return expectSameError(first.last, (await repeat(run, first)).last);
    },
  },
  {
    name: "idempotency/refusals-are-not-stored",
    ...common,
    expects: "an id whose params were refused, then with good ones: success",
    advice: "Store nothing before the params are checked.",
    async check(run) {
      const [requestId, sessionId] = [randomUUID(), newSessionId()];
      const refusedTask = await sendTask(run, { requestId, sessionId, params: { channel } });
      expectError(refusedTask.answer, ["invalid_params"]);
      const params = markParams(run.peer, { text: run.texts.plain }, sessionId);
      return expectSuccess(
        await followTask(run, await sendTask(run, { requestId, sessionId, params })),
      ).last.came;
    },
  },
];

/** A task that is not sent yet. */
async function start(
  { peer }: CaseRun,
  params: Readonly<Record<string, unknown>> & { text: string },
) {
  const sessionId = newSessionId();
  return { requestId: randomUUID(), sessionId, params: markParams(peer, params, sessionId) };
}

/**
 * Sends the request again, perhaps in another session, and follows it to its outcome. `accepted` is an answer to every repetition, with
 * the `task_id` of the task.
 */
export async function repeat(
  run: CaseRun,
  first: Pick<SentTask, "requestId" | "sessionId" | "params"> & { taskId?: string | undefined },
  elsewhere = first.sessionId,
): Promise<EndedTask> {
  const { requestId, sessionId, params, taskId } = first;
  const repetition = await sendTask(run, { requestId, sessionId: elsewhere, params });
  const again = await followTask(run, { ...repetition, sessionId });
  const isOther = taskId !== undefined && again.taskId !== undefined && again.taskId !== taskId;
  if (isOther) throw new Deviation(`${again.answer.came}; the task was accepted as ${taskId}`);
  return again;
}

/** Sends one request so many times, all but the last of them at the same time, and counts the reads of its file. */
async function countReads(run: CaseRun, times: number, { conflict = false } = {}): Promise<number> {
  const { files, texts } = run;
  const key = newSlackId("F");
  // The token must not be sent to the address of the file.
  const task = await start(run, {
    text: texts.file,
    attachments: [files?.create(key)],
    bot_token: botToken,
  });
  const send = async () => followTask(run, await sendTask(run, task));
  await Promise.all(Array.from({ length: Math.max(times - 1, 1) }, send));
  if (conflict)
    await sendTask(run, { ...task, params: { ...task.params, channel: newSlackId("C") } });
  if (times > 1) await repeat(run, task, newSessionId());
  return files?.count(key) ?? 0;
}

export function expectSameOutcome(first: Succeeded, again: { last: PeerAnswer }): string {
  const second = expectResult(again.last, "execute_task");
  if (comparable(first.result) === comparable(second)) return again.last.came;
  throw new Deviation(`first ${first.last.came}; then ${again.last.came}`);
}

/** Failures are the same if their numbers are, or where both are results with the status `error`. */
export function expectSameError(first: PeerAnswer, again: PeerAnswer): string {
  const [one, other] = [first, again].map(({ response }) => {
    if (response === undefined) return undefined;
    return "error" in response ? response.error.code : `status ${Object(response.result).status}`;
  });
  if (other !== undefined && one === other) return again.came;
  throw new Deviation(`first ${first.came}; then ${again.came}`);
}
