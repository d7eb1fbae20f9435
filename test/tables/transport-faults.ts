/** Conformance cases of transports: faults of the peer and of the network. */
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "@jest/globals";
import { failure, halfOf, raw, result, silence, success } from "../doubles/answers.ts";
import { connectionReset } from "../doubles/web-server.ts";
import type { CaseRun, TransportCase } from "./transport-case.ts";

const shortMs = 400;
const wellFormed = JSON.stringify({
  jsonrpc: "2.0",
  id: "x",
  result: { status: "success", response_text: "done" },
});

/** Answers that break the contract. They are never retried. */
const breaches: readonly Pick<TransportCase, "name" | "script" | "needs">[] = [
  {
    name: "a result with another id",
    script: () => success({ id: "other" }),
    needs: ["response-ids"],
  },
  {
    name: "an error with another id",
    script: () => failure({ id: "other" }, "unavailable"),
    needs: ["response-ids"],
  },
  { name: "a result of another shape", script: (call) => result(call, { status: "success" }) },
  { name: "text that is not JSON", script: () => raw("oops") },
  { name: "no body", script: () => raw("") },
  {
    name: "bytes that are not UTF-8",
    script: () =>
      new Response(new Uint8Array([0x22, 0xff, 0x22]), {
        headers: { "content-type": "application/json" },
      }),
  },
];

export const faultCases: readonly TransportCase[] = [
  ...breaches.map(
    ({ name, ...breach }): TransportCase => ({
      ...breach,
      name: `rejects ${name} as an invalid response, and does not repeat the call`,
      async check({ execute, calls }) {
        await expect(execute()).rejects.toMatchObject({ reason: "invalid_response" });
        expect(calls).toHaveLength(1);
      },
    }),
  ),
  {
    name: "rejects a body over the limit, with or without a declared length",
    maxResponseBytes: 2048,
    script: (call) =>
      call.params.text === "announced" ? success(call, "x".repeat(4096)) : raw(endless()),
    async check({ execute, calls }) {
      await expect(execute({ text: "announced" })).rejects.toMatchObject({
        reason: "payload_too_large",
      });
      await expect(execute({ text: "endless" })).rejects.toMatchObject({
        reason: "payload_too_large",
      });
      expect(calls).toHaveLength(2);
    },
  },
  {
    name: "reads a body of exactly the limit",
    maxResponseBytes: 2048,
    script: ({ id }) => {
      const body = { jsonrpc: "2.0", id, result: { status: "success", response_text: "done" } };
      return raw(JSON.stringify(body).padEnd(2048));
    },
    async check({ execute }) {
      await expect(execute()).resolves.toMatchObject({ status: "success" });
    },
  },
  ambiguous("a body that breaks off", () => halfOf(wellFormed, { rest: "break" })),
  ambiguous("a reset after the request was written", () => {
    throw connectionReset;
  }),
  {
    name: "repeats an ambiguous attempt once, with the same id, if the peer deduplicates",
    script: (call) => {
      if (call.count === 1) throw connectionReset;
      return success(call);
    },
    async check({ execute, calls }) {
      await expect(execute()).resolves.toMatchObject({ status: "success" });
      expect(calls.map(({ id }) => id)).toEqual([calls[0]?.id, calls[0]?.id]);
    },
  },
  {
    name: "ends a call whose headers are late, and aborts the request at the peer",
    script: (call) => (call.count === 1 ? success(call) : silence(call)),
    async check({ execute, calls }) {
      // The connection is open before the short call, so that the call times out while it waits for the peer.
      await execute();
      expect(await errorTooLate({ execute, calls })).toMatchObject({ reason: "ambiguous" });
      await aborted(calls[1]?.signal);
    },
  },
  {
    name: "ends a call whose body is late",
    script: (call) => (call.count === 1 ? success(call) : halfOf(wellFormed, { rest: "stall" })),
    async check({ execute, calls }) {
      await execute();
      expect(await errorTooLate({ execute, calls })).toMatchObject({ reason: "ambiguous" });
      expect(calls).toHaveLength(2);
    },
  },
  {
    name: "ends an aborted call at once as ambiguous",
    script: silence,
    async check({ execute, calls }) {
      const caller = new AbortController();
      const end = execute({ signal: caller.signal }).catch((error: unknown) => error);
      const isRunning = () => Promise.race([end.then(() => false), pause(5, true)]);
      while (calls.length === 0 && (await isRunning()));
      caller.abort();
      expect(await end).toMatchObject({ reason: "ambiguous" });
      await aborted(calls[0]?.signal);
    },
  },
  {
    name: "sends nothing for a call that was aborted before",
    script: success,
    async check({ execute, calls }) {
      const values = execute({ signal: AbortSignal.abort() });
      await expect(values).rejects.toMatchObject({
        reason: "unavailable",
        certainty: "undelivered",
      });
      expect(calls).toHaveLength(0);
    },
  },
  {
    name: "serves the next call after every kind of failure",
    maxResponseBytes: 2048,
    idempotent: false,
    script: (call) => {
      if (call.params.text === "reset") throw connectionReset;
      if (call.params.text === "broken") return halfOf(wellFormed, { rest: "break" });
      if (call.params.text === "endless") return raw(endless());
      return success(call);
    },
    async check({ execute }) {
      for (const text of ["reset", "broken", "endless"]) {
        await expect(execute({ text })).rejects.toThrow();
        await expect(execute({ text: "fine" })).resolves.toMatchObject({ status: "success" });
      }
    },
  },
  {
    name: "reports a destination as unavailable if nothing listens there, and tries again",
    needs: ["connection"],
    unreachable: true,
    script: success,
    async check({ execute, pauses }) {
      await expect(execute()).rejects.toMatchObject({
        reason: "unavailable",
        certainty: "undelivered",
      });
      expect(pauses).toHaveLength(2);
    },
  },
];

/** A peer that does not deduplicate is not sent the request again. */
function ambiguous(name: string, script: TransportCase["script"]): TransportCase {
  return {
    name: `reports ${name} as ambiguous, and does not repeat the call if the peer does not deduplicate`,
    idempotent: false,
    script,
    async check({ execute, calls }) {
      await expect(execute()).rejects.toMatchObject({ reason: "ambiguous" });
      expect(calls).toHaveLength(1);
    },
  };
}

function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    pull: (controller) => controller.enqueue(new Uint8Array(1024).fill(0x20)),
  });
}

/** Returns the error of a call that times out while the peer has it. Doubles the time where a busy machine did not send. */
async function errorTooLate({
  execute,
  calls,
}: Pick<CaseRun, "execute" | "calls">): Promise<unknown> {
  const callsBefore = calls.length;
  for (let timeoutMs = shortMs; ; timeoutMs *= 2) {
    const error = await execute({ timeoutMs }).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (error === undefined || calls.length > callsBefore) return error;
  }
}

async function aborted(signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) throw new Error("the peer was not called");
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
}
