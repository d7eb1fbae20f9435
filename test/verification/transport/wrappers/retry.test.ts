import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { type ClientReason, reasons, SekishoError } from "../../../../contracts/errors.ts";
import { createTrace } from "../../../../lambdas/shared/telemetry/telemetry.ts";
import { isRepeatedInCall, retry } from "../../../../lambdas/verification/transport/wrappers.ts";
import { virtualTime } from "../sample.ts";

type Failure = { reason: ClientReason; retryAfterMs?: number; exact?: boolean; undelivered?: boolean };

/** Runs a call whose attempts fail as told and then succeed; tells what came of it. */
async function run(
  failures: readonly Failure[],
  { idempotent = true, id = randomUUID() as string, random = (): number => 0.5, timeoutMs = 30_000 } = {},
) {
  const { time, now, sleep } = virtualTime();
  const ids: string[] = [];
  const step = retry({ idempotent, now, sleep, random })(async (call) => {
    ids.push(call.id);
    const failure = failures[ids.length - 1];
    if (failure === undefined) return { status: "success", response_text: "" } as const;
    const { reason, retryAfterMs, exact = true, undelivered = false } = failure;
    throw new SekishoError(reason, {
      exact,
      undelivered,
      ...(retryAfterMs === undefined ? {} : { details: { retry_after_ms: retryAfterMs } }),
    });
  });
  const endsAtMs = now() + timeoutMs;
  const { signal } = new AbortController();
  const params = { channel: "C1", text: "t" };
  const outcome = await step({
    method: "execute_task",
    params,
    id,
    requestId: id,
    sessionId: "",
    trace: createTrace(),
    signal,
    endsAtMs,
    attempt: 1,
  }).then(
    () => "success",
    (error: SekishoError) => error.reason,
  );
  return { outcome, attempts: ids.length, ids: new Set(ids), pauses: time.pauses, leftMs: endsAtMs - now() };
}

describe("a doubt", () => {
  it.each([
    "unauthenticated",
    "permission_denied",
    "agent_not_found",
    "internal",
    "unavailable",
    "rate_limited",
  ] as const)(
    "about a task stays when the repetition comes to %s, which says nothing of the first attempt",
    async (reason) => {
      const many = Array.from({ length: 9 }, () => ({ reason }));
      expect(await run([{ reason: "ambiguous" }, ...many])).toMatchObject({ outcome: "ambiguous" });
    },
  );

  it.each(["execution_failed", "already_exists", "invalid_params", "canceled"] as const)(
    "about a task ends with %s, which the peer says of the task itself",
    async (reason) => {
      expect(await run([{ reason: "ambiguous" }, { reason }])).toMatchObject({ outcome: reason, attempts: 2 });
    },
  );
});

describe("repetition", () => {
  it.each(reasons.filter((reason) => !isRepeatedInCall(reason)))("never follows %s", async (reason) => {
    expect(await run([{ reason }])).toMatchObject({ outcome: reason, attempts: 1 });
  });

  it.each(reasons.filter(isRepeatedInCall))("follows %s, with the same id, up to three attempts", async (reason) => {
    const many = Array.from({ length: 9 }, () => ({ reason, undelivered: true }));
    const { outcome, attempts, ids } = await run(many, { idempotent: false });
    expect({ outcome, attempts, ids: ids.size }).toEqual({ outcome: reason, attempts: 3, ids: 1 });
  });

  it("does not follow an outage of which nobody says that nothing was taken, where the peer would run the task again", async () => {
    const bare = Array.from({ length: 9 }, () => ({ reason: "unavailable" as const }));
    expect(await run(bare, { idempotent: false })).toMatchObject({ outcome: "ambiguous", attempts: 1 });
    expect(await run(bare)).toMatchObject({ outcome: "unavailable", attempts: 3 });
  });

  it("never follows a reason that was guessed from a number", async () => {
    expect(await run([{ reason: "unavailable", exact: false }])).toMatchObject({ outcome: "unavailable", attempts: 1 });
  });

  it("follows an ambiguous attempt once, and only where the peer deduplicates", async () => {
    const always = Array.from({ length: 9 }, () => ({ reason: "ambiguous" as const }));
    expect(await run(always)).toMatchObject({ outcome: "ambiguous", attempts: 2 });
    expect(await run(always, { idempotent: false })).toMatchObject({ outcome: "ambiguous", attempts: 1 });
  });

  it("does not follow an ambiguous attempt with an id that no host deduplicates", async () => {
    expect(await run([{ reason: "ambiguous" }], { id: "request-1" })).toMatchObject({ attempts: 1 });
  });

  it("keeps the doubt: what certainly did nothing later does not settle an attempt that may have arrived", async () => {
    const failures: Failure[] = [{ reason: "ambiguous" }, { reason: "unavailable" }, { reason: "unavailable" }];
    expect(await run(failures)).toMatchObject({ outcome: "ambiguous", attempts: 3 });
  });

  it("takes the word of a peer that knows the id for certain", async () => {
    expect(await run([{ reason: "ambiguous" }, { reason: "execution_failed" }])).toMatchObject({
      outcome: "execution_failed",
    });
  });

  it("is not even tried when the pause would not fit into the time left", async () => {
    const failures: Failure[] = [{ reason: "rate_limited", retryAfterMs: 31_000 }];
    expect(await run(failures)).toMatchObject({ outcome: "rate_limited", attempts: 1, pauses: [] });
  });

  it("always waits at least as long as asked, never past the call's end, and never changes the id", async () => {
    const failure = fc.record({
      reason: fc.constantFrom<ClientReason>("unavailable", "rate_limited", "ambiguous", "internal"),
      retryAfterMs: fc.nat({ max: 20_000 }),
    });
    const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await fc.assert(
      fc.asyncProperty(
        fc.array(failure, { maxLength: 5 }),
        fraction,
        fc.boolean(),
        async (failures, share, idempotent) => {
          const { attempts, ids, pauses, leftMs } = await run(failures, { random: () => share, idempotent });
          expect(ids.size).toBe(1);
          expect(attempts).toBe(pauses.length + 1);
          expect(leftMs).toBeGreaterThan(0);
          pauses.forEach((pause, index) => {
            expect(pause).toBeGreaterThanOrEqual(failures[index]?.retryAfterMs ?? 0);
          });
        },
      ),
    );
  });
});
