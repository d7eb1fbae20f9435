import { describe, expect, it } from "@jest/globals";
import { type ClientReason, SekishoError } from "../../../../contracts/errors.ts";
import { type LogFields, silentLog } from "../../../../lambdas/shared/log.ts";
import { createTrace } from "../../../../lambdas/shared/telemetry/telemetry.ts";
import { circuitBreaker } from "../../../../lambdas/verification/transport/wrappers.ts";

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
  const call = (signal = new AbortController().signal) =>
    step({
      method: "get_task",
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
    "opens after three calls in a row that were %s, and refuses at once",
    async (reason) => {
      const { clock, peer, call, fail } = setUp();
      fail(reason);
      for (let calls = 0; calls < 3; calls += 1) await call();
      clock.nowMs += 4000;
      expect(await call()).toMatchObject({ reason: "unavailable", retryable: true, details: { retry_after_ms: 6000 } });
      expect(peer.calls).toBe(3);
    },
  );

  it("says by which task's call it opened and closed", async () => {
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

  it.each<ClientReason>(["execution_failed", "permission_denied", "rate_limited", "invalid_response"])(
    "stays closed at %s: the peer is there and answers",
    async (reason) => {
      const { peer, call, fail } = setUp();
      fail(reason);
      for (let calls = 0; calls < 9; calls += 1) await call();
      expect(peer.calls).toBe(9);
    },
  );

  it("forgets failures at a success in between", async () => {
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

  it("lets one call through when the time is over, and closes if that one succeeds", async () => {
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

  it("stays open for another while if that one fails", async () => {
    const { clock, peer, call, open } = setUp();
    await open();
    clock.nowMs += openMs;
    await call();
    clock.nowMs += openMs - 1;
    expect(await call()).toMatchObject({ reason: "unavailable", details: { retry_after_ms: 1 } });
    expect(peer.calls).toBe(1);
  });

  it("learns nothing from a caller that gave up, and lets the next one through", async () => {
    const { clock, peer, call, fail, open } = setUp();
    const gone = AbortSignal.abort();
    fail("ambiguous");
    for (let calls = 0; calls < 9; calls += 1) await call(gone);
    expect(peer.calls).toBe(9);
    await open();
    clock.nowMs += openMs;
    await call(gone);
    expect(await call()).toMatchObject({ reason: "unavailable", details: {} });
    expect(peer.calls).toBe(2);
  });
});
