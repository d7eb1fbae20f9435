/** Conformance cases of transports: responses about another task than the requested one. */
import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import type { MethodName, ParamsOf } from "../../contracts/methods.ts";
import { failure, result } from "../doubles/answers.ts";
import type { PeerCall } from "../doubles/execution-peer.ts";
import type { TransportCase } from "./transport-case.ts";
import { common } from "./transport-sample.ts";

const theirs = "task-2";
const secret = "the secret of another thread";
type Run = Parameters<TransportCase["check"]>[0];

function ask<M extends MethodName>({ client }: Run, method: M, params: ParamsOf<M>) {
  return client.call({ method, params, id: randomUUID(), ...common });
}

async function expectRefused(run: Run): Promise<void> {
  const mine = { task_id: "task-1" };
  for (const call of [
    () => ask(run, "get_task", mine),
    () => ask(run, "answer_task", { ...mine, text: "yes" }),
    () => ask(run, "cancel_task", mine),
  ]) {
    const answered = call();
    await expect(answered).rejects.toMatchObject({ reason: "invalid_response", undelivered: false, details: {} });
    await expect(answered).rejects.not.toThrow(secret);
  }
  expect(run.calls).toHaveLength(3);
}

function other({ method, id }: PeerCall, told: Record<string, unknown>) {
  if (method === "cancel_task") return result({ id }, { status: "canceled", task_id: "task-1", ...told });
  return result({ id }, { status: "success", response_text: secret, ...told });
}

export const taskCases: readonly TransportCase[] = [
  {
    name: "a result that names another task is an invalid response and not repeated",
    script: (call) => other(call, { task_id: theirs }),
    check: expectRefused,
  },
  {
    name: "another task that is under way is an invalid response",
    script: ({ id, method }) =>
      result({ id }, { status: method === "cancel_task" ? "canceled" : "accepted", task_id: theirs }),
    check: expectRefused,
  },
  {
    name: "an error that names another task is an invalid response",
    script: (call) => failure(call, "execution_failed", { details: { task_id: theirs } }),
    needs: ["extra-fields"],
    check: expectRefused,
  },
  {
    name: "a result for another request is an invalid response, also to the request itself",
    needs: ["extra-fields"],
    script: (call) => other(call, { correlation_id: randomUUID() }),
    async check(run) {
      await expectRefused(run);
      await expect(run.execute()).rejects.toMatchObject({ reason: "invalid_response" });
    },
  },
  {
    name: "a result that names the same task and request, or none, is taken",
    needs: ["extra-fields"],
    script: (call) =>
      call.count === 1
        ? other(call, { task_id: "task-1", correlation_id: common.requestId.toUpperCase() })
        : other(call, { task_id: null, correlation_id: "" }),
    async check(run) {
      for (let calls = 0; calls < 2; calls++) {
        expect(await ask(run, "get_task", { task_id: "task-1" })).toMatchObject({ response_text: secret });
      }
    },
  },
];
