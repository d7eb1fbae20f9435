/** Cases of `execute_task`: what the Verification zone usually sends gets a result, and the same request id is one task. */
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { maxRequestBytes } from "../../../../contracts/methods.ts";
import {
  type CaseRun,
  type ConformanceCase,
  Deviation,
  ifIdempotent,
  NotApplicable,
  optional,
  required,
} from "../case.ts";
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
  required(
    "execute/answers",
    "channel and text: a result with status success and response_text, and the id that was sent",
    (run) => executePlain(run),
  ),
  required("execute/every-param", "every param that the Verification zone may send: success", (run) =>
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
  ),
  required(
    "execute/attachments",
    "attachments: anything but a refusal of the params, even where the file cannot be read",
    async (run) => {
      const answer = await runTask(run, { text: run.texts.plain, attachments: [attachment] });
      if (readPeerError(answer) === undefined) expectResult(answer, "execute_task");
      if (hasReason(answer, ["invalid_params", "invalid_request"])) throw new Deviation(answer.came);
      return answer.came;
    },
  ),
  required("execute/unknown-params", "params that are not known: ignored, and success", (run) =>
    executePlain(run, { x_unknown: { a: [1] }, urgency: "high" }),
  ),
  required("execute/unicode", "Japanese and emoji: success, and nothing misread in the answer", async (run) => {
    const { result, came } = await expectSuccess(run, { text: `${run.texts.plain} ${japanese}` });
    const misread = Buffer.from(japanese).toString("latin1").slice(0, 6);
    if (/\ufffd/.test(result.response_text) || result.response_text.includes(misread)) throw new Deviation(came);
    return came;
  }),
  required("execute/largest-request", "a body of exactly 256 KiB, padded by an unknown param: success", (run) => {
    const id = randomUUID();
    const params = { channel, text: run.texts.plain, x_padding: "" };
    const bytes = Buffer.byteLength(JSON.stringify({ jsonrpc: "2.0", id, method: "execute_task", params }));
    return executePlain(run, { x_padding: "x".repeat(maxRequestBytes - bytes) }, id);
  }),
  optional("execute/timeout-ms", "a slow task with a timeout_ms of one second: it ends as timeout", async (run) => {
    const { texts, now } = run;
    const sentAtMs = now();
    const answer = await runTask(run, { text: texts.slow, timeout_ms: 1000 });
    if (readPeerError(answer) === undefined) {
      expectResult(answer, "execute_task");
      // A shorter task may have ended in time: the last pause between two polls counts as well.
      if (now() - sentAtMs < 4000) throw new NotApplicable(`the task "${texts.slow}" is too short for this case`);
    }
    return expectError(answer, ["timeout"]);
  }),
];

async function executePlain(run: CaseRun, more: Readonly<Record<string, unknown>> = {}, id?: string): Promise<string> {
  return (await expectSuccess(run, { text: run.texts.plain, ...more }, id)).came;
}

export const idempotencyCases: readonly ConformanceCase[] = [
  ifIdempotent(
    "idempotency/same-outcome",
    "the same id and content again: the stored outcome, word for word",
    async (run) => {
      const id = randomUUID();
      const params = { text: run.texts.plain };
      const first = await expectSuccess(run, params, id);
      return expectSame(first, await expectSuccess(run, params, id));
    },
  ),
  ifIdempotent(
    "idempotency/changing-params",
    "the same id with another history and time left: still the same task",
    async (run) => {
      const id = randomUUID();
      const text = run.texts.plain;
      const first = await expectSuccess(run, { text, timeout_ms: 60_000 }, id);
      const history = [{ role: "user", text: "Good morning" }];
      return expectSame(first, await expectSuccess(run, { text, timeout_ms: 50_000, history }, id));
    },
  ),
  ifIdempotent(
    "idempotency/other-content",
    "the same id with another text: already_exists, error -32068",
    async (run) => {
      const id = randomUUID();
      await expectSuccess(run, { text: run.texts.plain }, id);
      const params = { channel, text: `${run.texts.plain} Another text.` };
      return expectError(await run.peer.call({ method: "execute_task", params, id }), ["already_exists"]);
    },
  ),
  ifIdempotent(
    "idempotency/at-the-same-time",
    "the same request twice at the same time: one task, one outcome",
    async (run) => {
      const id = randomUUID();
      const send = () => expectSuccess(run, { text: run.texts.plain }, id);
      const [first, second] = await Promise.all([send(), send()]);
      return expectSame(first, second);
    },
  ),
  ifIdempotent(
    "idempotency/not-run-again",
    "an accepted task sent again: accepted with the same task_id, or its result",
    async ({ peer, slowTasks }) => {
      const { requestId: id, params, result } = await slowTasks.awaited();
      return expectSameTask(await peer.call({ method: "execute_task", params, id }), result.task_id);
    },
  ),
  ifIdempotent(
    "idempotency/refusals-are-not-stored",
    "an id whose params were refused, then with good ones: success",
    async (run) => {
      const id = randomUUID();
      expectError(await runTask(run, {}, id), ["invalid_params"]);
      return executePlain(run, {}, id);
    },
  ),
];

function expectSame(first: Succeeded, second: Succeeded): string {
  if (isDeepStrictEqual(first.result, second.result)) return second.came;
  throw new Deviation(`first ${first.came}; then ${second.came}`);
}
