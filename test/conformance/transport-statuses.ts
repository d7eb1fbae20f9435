/** Conformance cases of transports: HTTP statuses, which count only without a JSON-RPC body. */
import { expect } from "@jest/globals";
import type { ClientReason } from "../../contracts/errors.ts";
import { failure, json, raw, success } from "../doubles/answers.ts";
import type { TransportCase } from "./transport-case.ts";

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

const html = (status: number) => raw("<html>Bad</html>", { status, headers: { "content-type": "text/html" } });

export const statusCases: readonly TransportCase[] = [
  ...statuses.flatMap(({ status, reason: known, doubted = known, sends }) =>
    ([true, false] as const).map((idempotent): TransportCase => {
      const reason = idempotent ? known : doubted;
      return {
        name: `${status} with HTML is ${reason} and goes out ${sends[idempotent ? 0 : 1]} times to a peer that ${idempotent ? "deduplicates" : "does not deduplicate"}`,
        needs: ["http-status"],
        idempotent,
        script: () => html(status),
        async check({ execute, calls }) {
          // The answer need not be the peer's, so it says nothing about what the peer did.
          await expect(execute()).rejects.toMatchObject({ reason, undelivered: false });
          expect(calls).toHaveLength(sends[idempotent ? 0 : 1] ?? 0);
          expect(new Set(calls.map(({ id }) => id)).size).toBe(1);
        },
      };
    }),
  ),
  {
    name: "429 with Retry-After is asked again no sooner than that",
    needs: ["http-status"],
    script: (call) => (call.count === 1 ? raw("", { status: 429, headers: { "retry-after": "2" } }) : success(call)),
    async check({ execute, pauses }) {
      await expect(execute()).resolves.toMatchObject({ status: "success" });
      expect(pauses[0]).toBeGreaterThanOrEqual(2000);
    },
  },
  {
    name: "a Retry-After past the call's own time is not waited for, but told",
    needs: ["http-status"],
    script: () => raw("", { status: 503, headers: { "retry-after": "60" } }),
    async check({ execute, pauses, calls }) {
      await expect(execute()).rejects.toMatchObject({ reason: "unavailable", details: { retry_after_ms: 60_000 } });
      expect(pauses).toHaveLength(0);
      expect(calls).toHaveLength(1);
    },
  },
  ...[-32_000, -32_603, -32_099, 1].map(
    (code): TransportCase => ({
      name: `503 with a JSON-RPC error ${code}, which alone says nothing of being unavailable, may come from anybody on the way`,
      needs: ["http-status"],
      script: ({ id }) => json({ jsonrpc: "2.0", id, error: { code, message: "" } }, { status: 503 }),
      async check({ execute }) {
        await expect(execute()).rejects.toMatchObject({ undelivered: false });
      },
    }),
  ),
  {
    name: "a JSON-RPC body decides, whatever the status",
    needs: ["http-status"],
    script: (call) =>
      call.params.text === "success" ? success(call) : failure(call, "task_not_found", { status: 503 }),
    async check({ execute }) {
      await expect(execute()).rejects.toMatchObject({ reason: "task_not_found" });
    },
  },
];
