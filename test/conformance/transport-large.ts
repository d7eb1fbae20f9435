/** Conformance cases of transports: responses about a task that exceed the size limit. */
import { randomUUID } from "node:crypto";
import { expect } from "@jest/globals";
import { failure, raw, result, success } from "../doubles/answers.ts";
import type { TransportCase } from "./transport-case.ts";
import { common } from "./transport-sample.ts";

const maxResponseBytes = 2048;
const params = { task_id: "task-1" };
/** A cut in the middle would break each of these: a character of four bytes, an escaped quote, an escaped character. */
const long = '😀\\"\u0001'.repeat(800);

type Run = Parameters<TransportCase["check"]>[0];
const get = ({ client }: Run) => client.call({ method: "get_task", params, id: randomUUID(), ...common });

export const largeCases: readonly TransportCase[] = [
  {
    name: "progress that is too large is dropped, and the task is under way",
    maxResponseBytes,
    script: (call) =>
      result(call, { status: "accepted", task_id: "task-1", progress: { text: long }, poll_after_ms: 7 }),
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
      await expect(get(run)).rejects.toMatchObject({ reason: "payload_too_large", unread: false });
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
      await expect(get(run)).rejects.toMatchObject({ reason: "execution_failed", unread: false });
    },
  },
  {
    name: "what is too large without its texts says nothing of the task",
    maxResponseBytes,
    script: ({ id }) => {
      const text = JSON.stringify({ jsonrpc: "2.0", id, result: { status: "accepted", task_id: "task-1" } });
      return raw(text + " ".repeat(4096));
    },
    async check(run) {
      await expect(get(run)).rejects.toMatchObject({ reason: "payload_too_large", unread: true });
      expect(run.calls).toHaveLength(1);
    },
  },
];
