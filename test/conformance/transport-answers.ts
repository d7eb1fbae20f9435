/** Conformance cases of transports: correct answers. */
import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { failure, result, success } from "../doubles/answers.ts";
import type { TransportCase } from "./transport-case.ts";
import { common, sampleTrace, sessionHeader } from "./transport-sample.ts";

const accepted = { status: "accepted", task_id: "task-1", poll_after_ms: 1 };

export const answerCases: readonly TransportCase[] = [
  {
    name: "a result at once comes back",
    script: success,
    async check({ execute, calls }) {
      expect(await execute()).toEqual({ status: "success", response_text: "done" });
      expect(calls).toHaveLength(1);
    },
  },
  {
    name: "the fields of a result that nobody knows come back with it",
    needs: ["extra-fields"],
    script: (call) => result(call, { status: "success", response_text: "done", mood: "good" }),
    async check({ execute }) {
      expect(await execute()).toEqual({ status: "success", response_text: "done", mood: "good" });
    },
  },
  {
    name: "an accepted task is polled over the same session until it is completed",
    script: (call) => (call.count < 3 ? result(call, accepted) : success(call)),
    async check({ execute, client, calls }) {
      expect(await execute()).toMatchObject({ status: "accepted", task_id: "task-1" });
      const poll = () =>
        client.call({ method: "get_task", params: { task_id: "task-1" }, id: randomUUID(), ...common });
      expect(await poll()).toMatchObject({ status: "accepted" });
      expect(await poll()).toMatchObject({ status: "success" });
      expect(calls.map(({ method }) => method)).toEqual(["execute_task", "get_task", "get_task"]);
      expect(new Set(calls.map(({ headers }) => headers.get(sessionHeader)))).toEqual(new Set([common.sessionId]));
    },
  },
  {
    name: "what is written of an answer comes back while the task is under way",
    needs: ["extra-fields"],
    script: (call) => result(call, { ...accepted, progress: { text: "Writing", partial_text: "関所は" } }),
    async check({ execute }) {
      expect(await execute()).toMatchObject({ progress: { text: "Writing", partial_text: "関所は" } });
    },
  },
  {
    name: "a question comes back with its id, which goes with the answer",
    needs: ["extra-fields"],
    script: (call) =>
      call.count === 1
        ? result(call, { status: "input_required", task_id: "task-1", prompt: "Shall I?", question_id: "q1" })
        : success(call),
    async check({ execute, client, calls }) {
      expect(await execute()).toMatchObject({ status: "input_required", prompt: "Shall I?", question_id: "q1" });
      const params = { task_id: "task-1", text: "yes", question_id: "q1" };
      await client.call({ method: "answer_task", params, id: randomUUID(), ...common });
      expect(calls[1]?.params).toEqual(params);
    },
  },
  {
    name: "an accepted task that fails is the reason that the peer gives, and is not repeated",
    script: (call) =>
      call.count === 1 ? result(call, accepted) : failure(call, "execution_failed", { details: { lost: true } }),
    async check({ execute, client, calls }) {
      await execute();
      const poll = client.call({ method: "get_task", params: { task_id: "task-1" }, id: randomUUID(), ...common });
      await expect(poll).rejects.toMatchObject({ reason: "execution_failed", details: { lost: true } });
      expect(calls).toHaveLength(2);
    },
  },
  {
    name: "a task is canceled",
    script: (call) => result(call, { status: "canceled", task_id: call.params.task_id }),
    async check({ client }) {
      const cancel = client.call({ method: "cancel_task", params: { task_id: "task-1" }, id: randomUUID(), ...common });
      expect(await cancel).toEqual({ status: "canceled", task_id: "task-1" });
    },
  },
  {
    name: "a failure in the clothes of a success, as older agents send it, is a failed task",
    script: (call) => result(call, { status: "error", error_code: "E1", error_message: "no" }),
    async check({ execute }) {
      await expect(execute()).rejects.toMatchObject({ reason: "execution_failed" });
    },
  },
  {
    name: "Japanese and emoji arrive and come back as they are",
    script: (call) => success(call, `${call.params.text}も`),
    async check({ execute, calls }) {
      expect(await execute({ text: "関所を通る 🏯👩‍💻" })).toMatchObject({ response_text: "関所を通る 🏯👩‍💻も" });
      expect(calls[0]?.params.text).toBe("関所を通る 🏯👩‍💻");
    },
  },
  {
    name: "the same request id again is the same id on the wire, and its error stays an error",
    script: (call) => (call.count === 1 ? success(call) : failure(call, "already_exists")),
    async check({ execute, calls }) {
      const id = randomUUID();
      await execute({ id });
      await expect(execute({ id, text: "other" })).rejects.toMatchObject({ reason: "already_exists" });
      expect(calls.map((call) => call.id)).toEqual([id, id]);
    },
  },
  {
    name: "the trace arrives with a span of its own for each attempt, and the trace state as it was",
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
    name: "a session that refuses a task since it ends soon took nothing, and is not asked again in the same call",
    script: (call) => failure(call, "session_ending"),
    async check({ execute, calls }) {
      await expect(execute()).rejects.toMatchObject({
        ...{ reason: "session_ending", retryable: true },
        ...{ undelivered: true, exact: true },
      });
      expect(calls).toHaveLength(1);
    },
  },
  {
    name: "a peer that says that it is unavailable took nothing",
    script: (call) => failure(call, "unavailable"),
    async check({ execute, calls }) {
      await expect(execute()).rejects.toMatchObject({ reason: "unavailable", undelivered: true });
      expect(calls).toHaveLength(3);
    },
  },
  {
    name: "a peer that names the task that it may have stored may have taken it, whatever it says the next time",
    script: (call) => failure(call, "unavailable", call.count === 1 ? { details: { task_id: "task-1" } } : {}),
    async check({ execute }) {
      await expect(execute()).rejects.toMatchObject({ reason: "unavailable", undelivered: false });
    },
  },
  {
    name: "a peer that says when to come back is asked again then, with the same id",
    script: (call) =>
      call.count === 1 ? failure(call, "rate_limited", { details: { retry_after_ms: 1500 } }) : success(call),
    async check({ execute, calls, pauses }) {
      await execute();
      expect(calls[1]?.id).toBe(calls[0]?.id);
      expect(pauses).toHaveLength(1);
      expect(pauses[0]).toBeGreaterThanOrEqual(1500);
    },
  },
];
