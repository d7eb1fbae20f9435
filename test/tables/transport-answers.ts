/** Conformance cases of transports: correct answers. */
import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import type { ClientReason } from "@sekisho/contracts/errors.ts";
import type { MethodName, ParamsOf } from "@sekisho/contracts/methods.ts";
import { failure, json, raw, result, success } from "../doubles/answers.ts";
import type { PeerCall } from "../doubles/execution-peer.ts";
import type { TransportCase } from "./transport-case.ts";
import { common, sampleTrace, sessionHeader } from "./transport-sample.ts";

const accepted = { status: "accepted", task_id: "task-1", poll_after_ms: 1 };

export const answerCases: readonly TransportCase[] = [
  {
    name: "returns a result that the peer sends at once",
    script: success,
    async check({ execute, calls }) {
      expect(await execute()).toEqual({ status: "success", response_text: "done" });
      expect(calls).toHaveLength(1);
    },
  },
  {
    name: "drops the unknown fields of a result",
    needs: ["extra-fields"],
    script: (call) => result(call, { status: "success", response_text: "done", mood: "good" }),
    async check({ execute }) {
      expect(await execute()).toEqual({ status: "success", response_text: "done" });
    },
  },
  {
    name: "polls an accepted task in the same session until it is completed",
    script: (call) => (call.count < 3 ? result(call, accepted) : success(call)),
    async check({ execute, client, calls }) {
      expect(await execute()).toMatchObject({ status: "accepted", task_id: "task-1" });
      const poll = () =>
        client.call({
          method: "get_task",
          params: { task_id: "task-1" },
          id: randomUUID(),
          ...common,
        });
      expect(await poll()).toMatchObject({ status: "accepted" });
      expect(await poll()).toMatchObject({ status: "success" });
      expect(calls.map(({ method }) => method)).toEqual(["execute_task", "get_task", "get_task"]);
      expect(new Set(calls.map(({ headers }) => headers.get(sessionHeader)))).toEqual(
        new Set([common.sessionId]),
      );
    },
  },
  {
    name: "returns the partial answer while the task is in progress",
    needs: ["extra-fields"],
    script: (call) =>
      result(call, { ...accepted, progress: { text: "Writing", partial_text: "関所は" } }),
    async check({ execute }) {
      expect(await execute()).toMatchObject({
        progress: { text: "Writing", partial_text: "関所は" },
      });
    },
  },
  {
    name: "returns a question with its id, and sends that id with the reply",
    needs: ["extra-fields"],
    script: (call) =>
      call.count === 1
        ? result(call, {
            status: "input_required",
            task_id: "task-1",
            prompt: "Shall I?",
            question_id: "q1",
          })
        : success(call),
    async check({ execute, client, calls }) {
      expect(await execute()).toMatchObject({
        status: "input_required",
        prompt: "Shall I?",
        question_id: "q1",
      });
      const params = { task_id: "task-1", text: "yes", question_id: "q1" };
      await client.call({ method: "answer_task", params, id: randomUUID(), ...common });
      expect(calls[1]?.params).toEqual(params);
    },
  },
  {
    name: "reports an accepted task that failed with the peer's reason, and does not repeat it",
    script: (call) =>
      call.count === 1
        ? result(call, accepted)
        : failure(call, "execution_failed", { details: { lost: true } }),
    async check({ execute, client, calls }) {
      await execute();
      const poll = client.call({
        method: "get_task",
        params: { task_id: "task-1" },
        id: randomUUID(),
        ...common,
      });
      await expect(poll).rejects.toMatchObject({
        reason: "execution_failed",
        details: { lost: true },
      });
      expect(calls).toHaveLength(2);
    },
  },
  {
    name: "cancels a task",
    script: (call) => result(call, { status: "canceled", task_id: call.params.task_id }),
    async check({ client }) {
      const cancel = client.call({
        method: "cancel_task",
        params: { task_id: "task-1" },
        id: randomUUID(),
        ...common,
      });
      expect(await cancel).toEqual({ status: "canceled", task_id: "task-1" });
    },
  },
  {
    name: "reads a failure inside a success, as older agents send it, as a failed task",
    script: (call) => result(call, { status: "error", error_code: "E1", error_message: "no" }),
    async check({ execute }) {
      await expect(execute()).rejects.toMatchObject({ reason: "execution_failed" });
    },
  },
  {
    name: "sends and returns Japanese and emoji unchanged",
    script: (call) => success(call, `${call.params.text}も`),
    async check({ execute, calls }) {
      expect(await execute({ text: "関所を通る 🏯👩‍💻" })).toMatchObject({
        response_text: "関所を通る 🏯👩‍💻も",
      });
      expect(calls[0]?.params.text).toBe("関所を通る 🏯👩‍💻");
    },
  },
  {
    name: "sends a repeated request id unchanged, and returns its error again",
    script: (call) => (call.count === 1 ? success(call) : failure(call, "already_exists")),
    async check({ execute, calls }) {
      const id = randomUUID();
      await execute({ id });
      await expect(execute({ id, text: "other" })).rejects.toMatchObject({
        reason: "already_exists",
      });
      expect(calls.map((call) => call.id)).toEqual([id, id]);
    },
  },
  {
    name: "sends the trace with one span per attempt, and the trace state unchanged",
    script: (call) => (call.count === 1 ? failure(call, "unavailable") : success(call)),
    async check({ execute, calls }) {
      await execute();
      const [traceId] = /(?<=^00-)[0-9a-f]{32}/.exec(sampleTrace.traceparent) ?? [];
      const parents = calls.map(({ headers }) => headers.get("traceparent"));
      expect(parents).toHaveLength(2);
      expect(parents.every((parent) => parent?.startsWith(`00-${traceId}-`))).toBe(true);
      expect(new Set([...parents, sampleTrace.traceparent]).size).toBe(3);
      expect(calls[0]?.headers.get("tracestate")).toBe(sampleTrace.tracestate);
    },
  },
  {
    name: "treats a task refused by an ending session as undelivered, and does not retry it in the same call",
    script: (call) => failure(call, "session_ending"),
    async check({ execute, calls }) {
      await expect(execute()).rejects.toMatchObject({
        reason: "session_ending",
        certainty: "undelivered",
      });
      expect(calls).toHaveLength(1);
    },
  },
  {
    name: "treats a task refused as unavailable as undelivered",
    script: (call) => failure(call, "unavailable"),
    async check({ execute, calls }) {
      await expect(execute()).rejects.toMatchObject({
        reason: "unavailable",
        certainty: "undelivered",
      });
      expect(calls).toHaveLength(3);
    },
  },
  {
    name: "treats a task as possibly delivered once the peer named it, even if the next attempt is refused",
    script: (call) =>
      failure(call, "unavailable", call.count === 1 ? { details: { task_id: "task-1" } } : {}),
    async check({ execute }) {
      await expect(execute()).rejects.toMatchObject({
        reason: "unavailable",
        certainty: "refused",
      });
    },
  },
  {
    name: "retries at the time that the peer names, with the same id",
    script: (call) =>
      call.count === 1
        ? failure(call, "rate_limited", { details: { retry_after_ms: 1500 } })
        : success(call),
    async check({ execute, calls, pauses }) {
      await execute();
      expect(calls[1]?.id).toBe(calls[0]?.id);
      expect(pauses).toHaveLength(1);
      expect(pauses[0]).toBeGreaterThanOrEqual(1500);
    },
  },
];

/** `sends`: how often a peer that deduplicates gets the request, and one that does not. `doubted`: the reason with the latter. */
const statuses: readonly {
  status: number;
  reason: ClientReason;
  doubted?: ClientReason;
  sends: readonly [number, number];
}[] = [
  { status: 400, reason: "invalid_response", sends: [1, 1] },
  { status: 401, reason: "unauthenticated", sends: [1, 1] },
  { status: 403, reason: "permission_denied", sends: [1, 1] },
  { status: 404, reason: "invalid_response", sends: [1, 1] },
  { status: 405, reason: "invalid_response", sends: [1, 1] },
  { status: 409, reason: "invalid_response", sends: [1, 1] },
  { status: 413, reason: "payload_too_large", sends: [1, 1] },
  { status: 424, reason: "invalid_response", sends: [1, 1] },
  { status: 429, reason: "rate_limited", sends: [3, 3] },
  { status: 500, reason: "ambiguous", sends: [2, 1] },
  { status: 502, reason: "ambiguous", sends: [2, 1] },
  { status: 503, reason: "unavailable", doubted: "ambiguous", sends: [3, 1] },
  { status: 504, reason: "ambiguous", sends: [2, 1] },
];

const html = (status: number) =>
  raw("<html>Bad</html>", { status, headers: { "content-type": "text/html" } });

export const statusCases: readonly TransportCase[] = [
  ...statuses.flatMap(({ status, reason: known, doubted = known, sends }) =>
    ([true, false] as const).map((idempotent): TransportCase => {
      const reason = idempotent ? known : doubted;
      return {
        name: `maps HTTP ${status} with HTML to ${reason} after attempt ${sends[idempotent ? 0 : 1]} at a peer that ${idempotent ? "deduplicates" : "does not deduplicate"}`,
        needs: ["http-status"],
        idempotent,
        script: () => html(status),
        async check({ execute, calls }) {
          // The answer need not be the peer's, so it says nothing about what the peer did.
          await expect(execute()).rejects.toMatchObject({
            reason,
            certainty: reason === "ambiguous" ? "unknown" : "refused",
          });
          expect(calls).toHaveLength(sends[idempotent ? 0 : 1] ?? 0);
          expect(new Set(calls.map(({ id }) => id)).size).toBe(1);
        },
      };
    }),
  ),
  {
    name: "retries after a 429 no sooner than its Retry-After allows",
    needs: ["http-status"],
    script: (call) =>
      call.count === 1 ? raw("", { status: 429, headers: { "retry-after": "2" } }) : success(call),
    async check({ execute, pauses }) {
      await expect(execute()).resolves.toMatchObject({ status: "success" });
      expect(pauses[0]).toBeGreaterThanOrEqual(2000);
    },
  },
  {
    name: "reports a Retry-After beyond the deadline of the call instead of waiting for it",
    needs: ["http-status"],
    script: () => raw("", { status: 503, headers: { "retry-after": "60" } }),
    async check({ execute, pauses, calls }) {
      await expect(execute()).rejects.toMatchObject({
        reason: "unavailable",
        details: { retry_after_ms: 60_000 },
      });
      expect(pauses).toHaveLength(0);
      expect(calls).toHaveLength(1);
    },
  },
  ...[-32_000, -32_603, -32_099, 1].map(
    (code): TransportCase => ({
      name: `never treats HTTP 503 with the JSON-RPC error ${code} as proof of non-delivery`,
      needs: ["http-status"],
      script: ({ id }) =>
        json({ jsonrpc: "2.0", id, error: { code, message: "" } }, { status: 503 }),
      async check({ execute }) {
        await expect(execute()).rejects.toMatchObject({
          certainty: expect.not.stringMatching("undelivered"),
        });
      },
    }),
  ),
  {
    name: "prefers the JSON-RPC body to the HTTP status",
    needs: ["http-status"],
    script: (call) =>
      call.params.text === "success"
        ? success(call)
        : failure(call, "task_not_found", { status: 503 }),
    async check({ execute }) {
      await expect(execute()).rejects.toMatchObject({ reason: "task_not_found" });
    },
  },
];

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
    await expect(answered).rejects.toMatchObject({
      reason: "invalid_response",
      certainty: expect.not.stringMatching("undelivered"),
      details: {},
    });
    await expect(answered).rejects.not.toThrow(secret);
  }
  expect(run.calls).toHaveLength(3);
}

function other({ method, id }: PeerCall, texts: Record<string, unknown>) {
  if (method === "cancel_task")
    return result({ id }, { status: "canceled", task_id: "task-1", ...texts });
  return result({ id }, { status: "success", response_text: secret, ...texts });
}

export const taskCases: readonly TransportCase[] = [
  {
    name: "rejects a result that names another task, and does not repeat the call",
    script: (call) => other(call, { task_id: theirs }),
    check: expectRefused,
  },
  {
    name: "rejects an accepted result that names another task",
    script: ({ id, method }) =>
      result(
        { id },
        { status: method === "cancel_task" ? "canceled" : "accepted", task_id: theirs },
      ),
    check: expectRefused,
  },
  {
    name: "rejects an error that names another task",
    script: (call) => failure(call, "execution_failed", { details: { task_id: theirs } }),
    needs: ["extra-fields"],
    check: expectRefused,
  },
  {
    name: "rejects a result for another request, even as the response to the task's own request",
    needs: ["extra-fields"],
    script: (call) => other(call, { correlation_id: randomUUID() }),
    async check(run) {
      await expectRefused(run);
      await expect(run.execute()).rejects.toMatchObject({ reason: "invalid_response" });
    },
  },
  {
    name: "accepts a result that names the same task and request, or neither",
    needs: ["extra-fields"],
    script: (call) =>
      call.count === 1
        ? other(call, { task_id: "task-1", correlation_id: common.requestId.toUpperCase() })
        : other(call, { task_id: null, correlation_id: "" }),
    async check(run) {
      for (let calls = 0; calls < 2; calls++) {
        expect(await ask(run, "get_task", { task_id: "task-1" })).toMatchObject({
          response_text: secret,
        });
      }
    },
  },
];

const maxResponseBytes = 2048;
const params = { task_id: "task-1" };

/** A cut in the middle would break each of these: a character of four bytes, an escaped quote, an escaped character. */
const long = '😀\\"\u0001'.repeat(800);

const get = ({ client }: Run) =>
  client.call({ method: "get_task", params, id: randomUUID(), ...common });

export const largeCases: readonly TransportCase[] = [
  {
    name: "drops oversized progress, and reports the task as accepted",
    maxResponseBytes,
    script: (call) =>
      result(call, {
        status: "accepted",
        task_id: "task-1",
        progress: { text: long },
        poll_after_ms: 7,
      }),
    async check(run) {
      const underWay = { status: "accepted", task_id: "task-1", poll_after_ms: 7 };
      expect(await get(run)).toEqual(underWay);
      expect(await run.execute()).toEqual(underWay);
    },
  },
  {
    name: "a result that is too large is the task's end",
    maxResponseBytes,
    script: (call) => success(call, long),
    async check(run) {
      await expect(get(run)).rejects.toMatchObject({
        reason: "payload_too_large",
        certainty: "refused",
      });
      expect(run.calls).toHaveLength(1);
    },
  },
  {
    name: "an error with a text that is too large is that error",
    maxResponseBytes,
    needs: ["extra-fields"],
    script: async (call) => {
      const { error, ...rest } = JSON.parse(await failure(call, "execution_failed").text());
      return raw(JSON.stringify({ ...rest, error: { ...error, message: long } }));
    },
    async check(run) {
      await expect(get(run)).rejects.toMatchObject({
        reason: "execution_failed",
        certainty: "refused",
      });
    },
  },
  {
    name: "reports an oversized response as unread if shorter texts would not help",
    maxResponseBytes,
    script: ({ id }) => {
      const text = JSON.stringify({
        jsonrpc: "2.0",
        id,
        result: { status: "accepted", task_id: "task-1" },
      });
      return raw(text + " ".repeat(4096));
    },
    async check(run) {
      await expect(get(run)).rejects.toMatchObject({
        reason: "payload_too_large",
        certainty: "unread",
      });
      expect(run.calls).toHaveLength(1);
    },
  },
];
