import { randomUUID } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import {
  type Certainty,
  type ClientReason,
  reasons,
  SekishoError,
} from "@sekisho/contracts/errors.ts";
import type { MethodName } from "@sekisho/contracts/methods.ts";
import { type LogFields, silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import {
  circuitBreaker,
  isRepeatedInCall,
  retry,
} from "@sekisho/verification/transport/wrappers.ts";
import fc from "fast-check";
import { forAll } from "../../doubles/for-all.ts";
import { virtualTime } from "./sample.ts";

type Failure = {
  reason: ClientReason;
  retryAfterMs?: number;
  certainty?: Certainty;
};

/** Runs a call whose attempts fail as told and then succeed; tells what came of it. */
async function run(
  failures: readonly Failure[],
  {
    idempotent = true,
    id = randomUUID() as string,
    random = (): number => 0.5,
    timeoutMs = 30_000,
  } = {},
) {
  const { time, now, sleep } = virtualTime();
  const ids: string[] = [];
  const step = retry({ idempotent, now, sleep, random })(async (call) => {
    ids.push(call.id);
    const failure = failures[ids.length - 1];
    if (failure === undefined) return { status: "success", response_text: "" } as const;
    const { reason, retryAfterMs, certainty } = failure;
    throw new SekishoError(reason, {
      certainty,
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
  return {
    outcome,
    attempts: ids.length,
    ids: new Set(ids),
    pauses: time.pauses,
    leftMs: endsAtMs - now(),
  };
}

describe("an ambiguous call", () => {
  const silent = [
    "unauthenticated",
    "permission_denied",
    "agent_not_found",
    "internal",
    "unavailable",
    "rate_limited",
  ];
  it.each(silent as ClientReason[])(
    "keeps a call ambiguous if its repetition fails with %s",
    async (reason) => {
      const many = Array.from({ length: 9 }, () => ({ reason }));
      expect(await run([{ reason: "ambiguous" }, ...many])).toMatchObject({ outcome: "ambiguous" });
    },
  );

  it.each(["execution_failed", "already_exists", "invalid_params", "canceled"] as const)(
    "reports %s for an ambiguous call, because this reason describes the task itself",
    async (reason) => {
      expect(await run([{ reason: "ambiguous" }, { reason }])).toMatchObject({
        outcome: reason,
        attempts: 2,
      });
    },
  );
});

describe("repetition", () => {
  it.each(reasons.filter((reason) => !isRepeatedInCall(reason)))(
    "never repeats a call after %s",
    async (reason) => {
      expect(await run([{ reason }])).toMatchObject({ outcome: reason, attempts: 1 });
    },
  );

  it.each(reasons.filter(isRepeatedInCall))(
    "repeats a call after %s with the same id, up to three attempts",
    async (reason) => {
      const many = Array.from({ length: 9 }, () => ({
        reason,
        certainty: "undelivered" as const,
      }));
      const { outcome, attempts, ids } = await run(many, { idempotent: false });
      expect({ outcome, attempts, ids: ids.size }).toEqual({
        outcome: reason,
        attempts: 3,
        ids: 1,
      });
    },
  );

  it("repeats a bare outage only at a peer that deduplicates", async () => {
    const bare = Array.from({ length: 9 }, () => ({ reason: "unavailable" as const }));
    expect(await run(bare, { idempotent: false })).toMatchObject({
      outcome: "ambiguous",
      attempts: 1,
    });
    expect(await run(bare)).toMatchObject({ outcome: "unavailable", attempts: 3 });
  });

  it("never repeats a call whose reason was guessed from a number", async () => {
    expect(await run([{ reason: "unavailable", certainty: "guessed" }])).toMatchObject({
      outcome: "unavailable",
      attempts: 1,
    });
  });

  it("repeats an ambiguous call once and only at a peer that deduplicates", async () => {
    const always = Array.from({ length: 9 }, () => ({ reason: "ambiguous" as const }));
    expect(await run(always)).toMatchObject({ outcome: "ambiguous", attempts: 2 });
    expect(await run(always, { idempotent: false })).toMatchObject({
      outcome: "ambiguous",
      attempts: 1,
    });
  });

  it("never repeats an ambiguous call whose id no host deduplicates", async () => {
    expect(await run([{ reason: "ambiguous" }], { id: "request-1" })).toMatchObject({
      attempts: 1,
    });
  });

  it("skips a repetition whose pause would exceed the time left", async () => {
    const failures: Failure[] = [{ reason: "rate_limited", retryAfterMs: 31_000 }];
    expect(await run(failures)).toMatchObject({ outcome: "rate_limited", attempts: 1, pauses: [] });
  });

  it("waits at least as long as asked, never past the end of the call, and keeps the id", async () => {
    const failure = fc.record({
      reason: fc.constantFrom<ClientReason>("unavailable", "rate_limited", "ambiguous", "internal"),
      retryAfterMs: fc.nat({ max: 20_000 }),
    });
    const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await forAll(fc.array(failure, { maxLength: 5 }), fraction, fc.boolean()).holdAsync(
      async (failures, share, idempotent) => {
        const { attempts, ids, pauses, leftMs } = await run(failures, {
          random: () => share,
          idempotent,
        });
        expect(ids.size).toBe(1);
        expect(attempts).toBe(pauses.length + 1);
        expect(leftMs).toBeGreaterThan(0);
        pauses.forEach((pause, index) => {
          expect(pause).toBeGreaterThanOrEqual(failures[index]?.retryAfterMs ?? 0);
        });
      },
    );
  });
});

const openMs = 10_000;

function setUp() {
  const clock = { nowMs: 0 };
  const lines: [string, LogFields | undefined][] = [];
  const note = (message: string, fields?: LogFields) => void lines.push([message, fields]);
  const log = { ...silentLog, info: note, warn: note };
  const peer = { calls: 0, answer: async (): Promise<void> => {} };
  const step = circuitBreaker({ log, now: () => clock.nowMs, maxFailures: 3, openMs })(async () => {
    peer.calls += 1;
    await peer.answer();
    return { status: "success", response_text: "" } as const;
  });
  const call = (signal = new AbortController().signal, method: MethodName = "get_task") =>
    step({
      method,
      params: { task_id: "t" },
      id: "1",
      requestId: "1",
      sessionId: "",
      trace: createTrace(),
      signal,
      endsAtMs: 1,
      attempt: 1,
    }).then(
      () => "success",
      (error: SekishoError) => error,
    );
  const fail = (reason: ClientReason) => {
    peer.answer = async () => {
      throw new SekishoError(reason);
    };
  };
  const recover = () => {
    peer.answer = async () => {};
  };
  const open = async () => {
    fail("unavailable");
    for (let calls = 0; calls < 3; calls += 1) await call();
    peer.calls = 0;
  };
  return { clock, peer, call, fail, recover, open, lines };
}

describe("the circuit breaker", () => {
  it.each<ClientReason>(["unavailable", "ambiguous"])(
    "opens after three calls in a row end as %s, and then refuses at once",
    async (reason) => {
      const { clock, peer, call, fail } = setUp();
      fail(reason);
      for (let calls = 0; calls < 3; calls += 1) await call();
      clock.nowMs += 4000;
      expect(await call()).toMatchObject({
        reason: "unavailable",
        certainty: "undelivered",
        details: { retry_after_ms: 6000 },
      });
      expect(peer.calls).toBe(3);
    },
  );

  it("logs the task whose call opened or closed the circuit", async () => {
    const { clock, call, recover, open, lines } = setUp();
    await open();
    clock.nowMs += openMs;
    recover();
    await call();
    const ofTask = expect.objectContaining({ request_id: "1", trace_id: expect.any(String) });
    expect(lines).toEqual([
      ["circuit_opened", ofTask],
      ["circuit_closed", ofTask],
    ]);
  });

  it.each<ClientReason>([
    "execution_failed",
    "permission_denied",
    "rate_limited",
    "invalid_response",
  ])("stays closed after %s, because the peer responds", async (reason) => {
    const { peer, call, fail } = setUp();
    fail(reason);
    for (let calls = 0; calls < 9; calls += 1) await call();
    expect(peer.calls).toBe(9);
  });

  it("stays closed after failed votes and blocks votes while it is open", async () => {
    const { clock, peer, call, fail, recover, open } = setUp();
    const vote = () => call(undefined, "feedback");
    fail("unavailable");
    for (let calls = 0; calls < 9; calls += 1)
      expect(await vote()).toMatchObject({ reason: "unavailable" });
    recover();
    expect(await call()).toBe("success");
    await open();
    clock.nowMs += openMs;
    recover();
    expect(await vote()).toMatchObject({ reason: "unavailable" });
    expect(peer.calls).toBe(0);
    expect([await call(), await vote()]).toEqual(["success", "success"]);
  });

  it("resets its count of failures at a success", async () => {
    const { peer, call, fail, recover } = setUp();
    for (let rounds = 0; rounds < 3; rounds += 1) {
      fail("unavailable");
      await call();
      await call();
      recover();
      await call();
    }
    expect(peer.calls).toBe(9);
  });

  it("lets one call through after the pause and closes if that succeeds", async () => {
    const { clock, peer, call, recover, open } = setUp();
    await open();
    clock.nowMs += openMs;
    const probe = Promise.withResolvers<void>();
    peer.answer = () => probe.promise;
    const first = call();
    expect(await call()).toMatchObject({ reason: "unavailable" });
    probe.resolve();
    expect(await first).toBe("success");
    recover();
    expect(await Promise.all([call(), call()])).toEqual(["success", "success"]);
    expect(peer.calls).toBe(3);
  });

  it("stays open for another pause if the trial call fails", async () => {
    const { clock, peer, call, open } = setUp();
    await open();
    clock.nowMs += openMs;
    await call();
    clock.nowMs += openMs - 1;
    expect(await call()).toMatchObject({ reason: "unavailable", details: { retry_after_ms: 1 } });
    expect(peer.calls).toBe(1);
  });

  it("ignores the result of an aborted call and lets the next one through", async () => {
    const { clock, peer, call, fail, open } = setUp();
    const abortedSignal = AbortSignal.abort();
    fail("ambiguous");
    for (let calls = 0; calls < 9; calls += 1) await call(abortedSignal);
    expect(peer.calls).toBe(9);
    await open();
    clock.nowMs += openMs;
    await call(abortedSignal);
    expect(await call()).toMatchObject({ reason: "unavailable", details: {} });
    expect(peer.calls).toBe(2);
  });
});
