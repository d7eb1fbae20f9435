/** Cases of idempotency: the same request id is one task, however often it is sent. */
import { isDeepStrictEqual } from "node:util";
import { type CaseRun, type ConformanceCase, Deviation } from "../case.ts";
import { expectError } from "../expect.ts";
import { channel, expectSuccess, runTask } from "../run-task.ts";
import { expectSameTask } from "./accepted.ts";

export const idempotencyCases: readonly ConformanceCase[] = [
  {
    name: "idempotency/same-outcome",
    level: "idempotent",
    expects: "the same id and content again: the stored outcome, word for word",
    async check(run) {
      const id = run.newId();
      const params = { text: run.texts.plain };
      const first = await expectSuccess({ run, params, id });
      return sameAs({ first, second: await expectSuccess({ run, params, id }) });
    },
  },
  {
    name: "idempotency/changing-params",
    level: "idempotent",
    expects: "the same id with another history and time left: still the same task",
    async check(run) {
      const id = run.newId();
      const text = run.texts.plain;
      const first = await expectSuccess({ run, params: { text, timeout_ms: 60_000 }, id });
      const history = [{ role: "user", text: "Good morning" }];
      const second = await expectSuccess({ run, params: { text, timeout_ms: 50_000, history }, id });
      return sameAs({ first, second });
    },
  },
  {
    name: "idempotency/other-content",
    level: "idempotent",
    expects: "the same id with another text: already_exists, error -32068",
    async check(run) {
      const id = run.newId();
      await expectSuccess({ run, params: { text: run.texts.plain }, id });
      const params = { channel, text: `${run.texts.plain} Another text.` };
      const answer = await run.peer.call({ method: "execute_task", params, id });
      return expectError({ answer, reasons: ["already_exists"], ids: [id], dialect: run.peer.dialect });
    },
  },
  {
    name: "idempotency/at-the-same-time",
    level: "idempotent",
    expects: "the same request twice at the same time: one task, one outcome",
    async check(run) {
      const request = { run, params: { text: run.texts.plain }, id: run.newId() };
      const [first, second] = await Promise.all([expectSuccess(request), expectSuccess(request)]);
      return sameAs({ first, second });
    },
  },
  {
    name: "idempotency/not-run-again",
    level: "idempotent",
    expects: "an accepted task sent again: accepted with the same task_id, or its result",
    async check({ peer, slowTasks }) {
      const { requestId, params, result } = await slowTasks.awaited();
      const answer = await peer.call({ method: "execute_task", params, id: requestId });
      return expectSameTask({ answer, id: requestId, taskId: result.task_id });
    },
  },
  {
    name: "idempotency/refusals-are-not-stored",
    level: "idempotent",
    expects: "an id whose params were refused, then with good ones: success",
    check: afterRefusal,
  },
];

async function afterRefusal(run: CaseRun): Promise<string> {
  const id = run.newId();
  const { answer } = await runTask({ run, params: {}, id });
  expectError({ answer, reasons: ["invalid_params"], ids: [id], dialect: run.peer.dialect });
  const { came } = await expectSuccess({ run, params: { text: run.texts.plain }, id });
  return came;
}

type Succeeded = Awaited<ReturnType<typeof expectSuccess>>;

function sameAs({ first, second }: { first: Succeeded; second: Succeeded }): string {
  if (isDeepStrictEqual(first.result, second.result)) return second.came;
  throw new Deviation(`first ${first.came}; then ${second.came}`);
}
