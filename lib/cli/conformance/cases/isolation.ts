/** Cases of tasks that must not mix: at the same time, and of different callers. */
import { randomUUID } from "node:crypto";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import { eachStep, expectError, hasReason, isRefusedCaller } from "../expect.ts";
import { markPattern } from "../peer.ts";
import { markParams, runToSuccess, sendTask } from "../tasks.ts";

const ownAdvice = "Keep each task under its authenticated caller, and find it for that caller alone.";

export const isolationCases: readonly ConformanceCase[] = [
  {
    name: "isolation/side-by-side",
    level: "required",
    section: "Sessions",
    needs: ["execute/answers"],
    expects: "six tasks at the same time, each in a session of its own: each answer is about its own text",
    advice: "Keep nothing of a task in a variable that all requests share.",
    async check(run) {
      const { texts } = run;
      const all = await Promise.all(Array.from({ length: 6 }, () => runToSuccess(run, { text: texts.plain })));
      for (const { params, result, last } of all) {
        const own: readonly string[] = String(params.text).match(markPattern) ?? [];
        const others = (JSON.stringify(result).match(markPattern) ?? []).filter((mark) => !own.includes(mark));
        if (others.length > 0) throw new Deviation(`${last.came}; that holds the text of another task`);
      }
      return `${all.length} answers, none of which holds the text of another task`;
    },
  },
  {
    name: "isolation/unknown-caller-runs-nothing",
    level: "required",
    section: "Transport",
    needs: ["authentication/nobody"],
    expects: "execute_task without a token, and then get_task of its id with the token: no such task",
    advice: "Refuse the caller before the task is created.",
    async check(run) {
      if (!run.peer.callers.has("nobody")) throw new NotApplicable(run.peer.whyNot);
      const id = randomUUID();
      const { sessionId } = run.peer;
      const params = markParams(run.peer, { text: run.texts.plain }, sessionId);
      run.step("execute_task without a token");
      await run.peer.call({ method: "execute_task", params, id, sessionId, as: "nobody" });
      run.step("get_task with the token");
      const answer = await run.peer.call({ method: "get_task", params: { request_id: id }, sessionId });
      return expectError(answer, ["task_not_found", "method_not_found"]);
    },
  },
  {
    name: "isolation/another-caller-reads",
    level: "required",
    section: "Transport",
    needs: ["accepted/by-task-id"],
    expects: "get_task, cancel_task and answer_task of a task, by another caller: task_not_found, error -32061",
    advice: ownAdvice,
    async check(run) {
      requireAnother(run);
      const { taskId, requestId, sessionId } = await run.tasks.accepted();
      const calls = [
        { method: "get_task", params: { task_id: taskId } },
        { method: "get_task", params: { request_id: requestId } },
        { method: "cancel_task", params: { task_id: taskId } },
        { method: "cancel_task", params: { request_id: requestId } },
        { method: "answer_task", params: { task_id: taskId, text: "yes" } },
      ];
      const steps = calls.map((call) => [`${call.method} by ${Object.keys(call.params)[0]}`, call] as const);
      return eachStep(run, steps, async (call) => {
        const answer = await run.peer.call({ ...call, sessionId, as: "another" });
        return expectError(answer, ["task_not_found", "method_not_found"]);
      });
    },
  },
  {
    name: "isolation/another-caller-answers",
    level: "required",
    section: "Transport",
    needs: ["question/asks"],
    expects: "get_task and answer_task of a task that asks, by another caller: task_not_found, error -32061",
    advice: ownAdvice,
    async check(run) {
      requireAnother(run);
      const { taskId, sessionId } = await run.tasks.askingForText();
      const steps = [
        ["get_task", { task_id: taskId }] as const,
        ["answer_task", { task_id: taskId, text: "yes" }] as const,
        ["cancel_task", { task_id: taskId }] as const,
      ].map(([method, params]) => [method, { method, params, sessionId, as: "another" }] as const);
      return eachStep(run, steps, async (call) =>
        expectError(await run.peer.call(call), ["task_not_found", "method_not_found"]),
      );
    },
  },
  {
    name: "isolation/another-caller-repeats",
    level: "required",
    section: "`execute_task`",
    needs: ["execute/answers"],
    expects:
      "the request of a task sent by another caller: a task of its own, never the first one's result or already_exists",
    advice: "The key of a task is its caller and its request id together.",
    async check(run) {
      requireAnother(run);
      const first = await run.tasks.plain();
      const { sessionId } = run.peer;
      const params = markParams(run.peer, { text: run.texts.plain }, sessionId);
      const call = { method: "execute_task", id: first.requestId, params, sessionId };
      const answer = await run.peer.call({ ...call, as: "another" });
      if (isRefusedCaller(answer)) throw new NotApplicable(`the second caller is refused: ${answer.came}`);
      const marks = String(first.params.text).match(markPattern) ?? [];
      const holdsFirst = marks.some((mark) => Buffer.from(answer.body).includes(mark));
      if (holdsFirst || hasReason(answer, ["already_exists"])) throw new Deviation(answer.came);
      return answer.came;
    },
  },
];

function requireAnother({ peer }: CaseRun): void {
  if (!peer.callers.has("another")) throw new NotApplicable("there is no second caller (--other-auth)");
}

/** Sends what attackers send. The cases that sum up look for leaks in the answers. */
export const hostileCases: readonly ConformanceCase[] = [
  {
    name: "errors/hostile-params",
    level: "required",
    section: "Errors",
    needs: ["execute/answers"],
    expects: "params that break careless code: a JSON-RPC answer each, and not internal, error -32603",
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
      const steps = hostile.map(([method, what, params]) => [`${method} with ${what}`, { method, params }] as const);
      return eachStep(run, steps, async (call) => {
        const answer = await peer.call(call);
        if (answer.response === undefined || hasReason(answer, ["internal"])) throw new Deviation(answer.came);
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
      if (answer.response === undefined || hasReason(answer, ["internal"])) throw new Deviation(answer.came);
      return answer.came;
    },
  },
];
