/** Cases of `execute_task`: what the Verification zone usually sends gets a result, and the same request id is one task. */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { maxRequestBytes } from "../../../../contracts/methods.ts";
import { type CaseRun, type ConformanceCase, Deviation, NotApplicable } from "../case.ts";
import { expectError, expectResult, hasReason, readPeerError } from "../expect.ts";
import { channel, expectSuccess, runTask, type Succeeded } from "../run-task.ts";
import { expectSameTask } from "./accepted.ts";

const japanese = "関所を通る 🏯👩‍💻";
const attachment = {
  id: "F0CONFORMANCE",
  name: "関所.txt",
  mimetype: "text/plain",
  size: 12,
  url: "https://files.sekisho.invalid/F0CONFORMANCE",
};

export const executeCases: readonly ConformanceCase[] = [
  {
    name: "execute/answers",
    level: "required",
    expects: "channel and text: a result with status success and response_text, and the id that was sent",
    check: (run) => executePlain(run),
  },
  {
    name: "execute/every-param",
    level: "required",
    expects: "every param that the Verification zone may send: success",
    check: (run) =>
      executePlain(run, {
        thread_ts: "1700000000.000100",
        team_id: "T0CONFORMANCE",
        user_id: "U0CONFORMANCE",
        correlation_id: randomUUID(),
        history: [{ role: "user", text: "Good morning", user_id: "U0CONFORMANCE", ts: "1700000000.000000" }],
        session_id: `conformance-${randomUUID()}`,
        timeout_ms: 120_000,
        callback: true,
      }),
  },
  {
    name: "execute/attachments",
    level: "required",
    expects: "attachments: anything but a refusal of the params, even where the file cannot be read",
    async check(run) {
      const answer = await runTask(run, { text: run.texts.plain, attachments: [attachment] });
      if (readPeerError(answer) === undefined) expectResult(answer, "execute_task");
      if (hasReason(answer, ["invalid_params", "invalid_request"])) throw new Deviation(answer.came);
      return answer.came;
    },
  },
  {
    name: "execute/unknown-params",
    level: "required",
    expects: "params that are not known: ignored, and success",
    check: (run) => executePlain(run, { x_unknown: { a: [1] }, urgency: "high" }),
  },
  {
    name: "execute/unicode",
    level: "required",
    expects: "Japanese and emoji: success, and nothing misread in the answer",
    async check(run) {
      const { result, came } = await expectSuccess(run, { text: `${run.texts.plain} ${japanese}` });
      const misread = Buffer.from(japanese).toString("latin1").slice(0, 6);
      if (/\ufffd/.test(result.response_text) || result.response_text.includes(misread)) throw new Deviation(came);
      return came;
    },
  },
  {
    name: "execute/largest-request",
    level: "required",
    expects: "a body of exactly 256 KiB, padded by an unknown param: success",
    check(run) {
      const id = randomUUID();
      const params = { channel, text: run.texts.plain, x_padding: "" };
      const bytes = Buffer.byteLength(JSON.stringify({ jsonrpc: "2.0", id, method: "execute_task", params }));
      return executePlain(run, { x_padding: "x".repeat(maxRequestBytes - bytes) }, id);
    },
  },
  {
    name: "execute/timeout-ms",
    level: "optional",
    expects: "a slow task with a timeout_ms of one second: it ends as timeout",
    async check(run) {
      const { texts, now } = run;
      const sentAtMs = now();
      const answer = await runTask(run, { text: texts.slow, timeout_ms: 1000 });
      if (readPeerError(answer) === undefined) {
        expectResult(answer, "execute_task");
        // A shorter task may have ended in time: the last pause between two polls counts as well.
        if (now() - sentAtMs < 4000) throw new NotApplicable(`"${texts.slow}" takes too little time to tell`);
      }
      return expectError(answer, ["timeout"]);
    },
  },
];

async function executePlain(run: CaseRun, more: Readonly<Record<string, unknown>> = {}, id?: string): Promise<string> {
  return (await expectSuccess(run, { text: run.texts.plain, ...more }, id)).came;
}

export const idempotencyCases: readonly ConformanceCase[] = [
  {
    name: "idempotency/same-outcome",
    level: "idempotent",
    expects: "the same id and content again: the stored outcome, word for word",
    async check(run) {
      const id = randomUUID();
      const params = { text: run.texts.plain };
      const first = await expectSuccess(run, params, id);
      return expectSame(first, await expectSuccess(run, params, id));
    },
  },
  {
    name: "idempotency/changing-params",
    level: "idempotent",
    expects: "the same id with another history and time left: still the same task",
    async check(run) {
      const id = randomUUID();
      const text = run.texts.plain;
      const first = await expectSuccess(run, { text, timeout_ms: 60_000 }, id);
      const history = [{ role: "user", text: "Good morning" }];
      return expectSame(first, await expectSuccess(run, { text, timeout_ms: 50_000, history }, id));
    },
  },
  {
    name: "idempotency/other-content",
    level: "idempotent",
    expects: "the same id with another text: already_exists, error -32068",
    async check(run) {
      const id = randomUUID();
      await expectSuccess(run, { text: run.texts.plain }, id);
      const params = { channel, text: `${run.texts.plain} Another text.` };
      return expectError(await run.peer.call({ method: "execute_task", params, id }), ["already_exists"]);
    },
  },
  {
    name: "idempotency/at-the-same-time",
    level: "idempotent",
    expects: "the same request twice at the same time: one task, one outcome",
    async check(run) {
      const id = randomUUID();
      const send = () => expectSuccess(run, { text: run.texts.plain }, id);
      const [first, second] = await Promise.all([send(), send()]);
      return expectSame(first, second);
    },
  },
  {
    name: "idempotency/not-run-again",
    level: "idempotent",
    expects: "an accepted task sent again: accepted with the same task_id, or its result",
    async check({ peer, slowTasks }) {
      const { requestId: id, params, result } = await slowTasks.awaited();
      return expectSameTask(await peer.call({ method: "execute_task", params, id }), result.task_id);
    },
  },
  {
    name: "idempotency/refusals-are-not-stored",
    level: "idempotent",
    expects: "an id whose params were refused, then with good ones: success",
    async check(run) {
      const id = randomUUID();
      expectError(await runTask(run, {}, id), ["invalid_params"]);
      return executePlain(run, {}, id);
    },
  },
];

function expectSame(first: Succeeded, second: Succeeded): string {
  if (isDeepStrictEqual(first.result, second.result)) return second.came;
  throw new Deviation(`first ${first.came}; then ${second.came}`);
}
