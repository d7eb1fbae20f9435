import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import {
  createTrace,
  noSpans,
  noTelemetry,
  type Spans,
} from "@sekisho/runtime/telemetry/telemetry.ts";
import {
  compose,
  type RunningCall,
  type Wrapper,
} from "@sekisho/verification/transport/transport.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { recordedMetrics } from "../../runtime/telemetry/recorded.ts";
import { clientOver, execute, type Scripted, successResponse, virtualTime } from "./sample.ts";

function recording() {
  const events: string[] = [];
  const { now, sleep } = virtualTime();
  const log = createLog({
    service: "verification",
    write: (line) => events.push(JSON.parse(line).message),
  });
  return {
    events,
    options: {
      now,
      log,
      sleep: async ({ ms }: { ms: number }) => {
        events.push("sleep");
        await sleep({ ms });
      },
      telemetry: {
        ...noTelemetry,
        spans: {
          ...noSpans,
          within: (...[span, work]: Parameters<Spans["within"]>) => {
            events.push("span");
            return noSpans.within(span, work);
          },
        } as Spans,
      },
    },
  };
}

describe("the order of the wrappers", () => {
  it("pauses between attempts and gives each attempt its own span, exchange and log line", async () => {
    const { events, options } = recording();
    let count = 0;
    const client = clientOver((request) => {
      events.push("exchange");
      count += 1;
      if (count === 1) throw new SekishoError("unavailable");
      return successResponse(request);
    }, options);
    await execute(client);
    expect(events).toEqual([
      "span",
      "exchange",
      "call_failed",
      "sleep",
      "span",
      "exchange",
      "call_answered",
    ]);
  });

  it("puts the circuit breaker outside of all wrappers, so that an open circuit does nothing else", async () => {
    const { events, options } = recording();
    const client = clientOver(() => {
      throw new SekishoError("unavailable");
    }, options);
    for (let calls = 0; calls < 5; calls += 1) await expect(execute(client)).rejects.toThrow();
    expect(events.filter((event) => event === "span")).toHaveLength(15);
    expect(events.at(-1)).toBe("circuit_opened");
    const eventCount = events.length;
    await expect(execute(client)).rejects.toMatchObject({ reason: "unavailable" });
    expect(events).toHaveLength(eventCount);
  });

  it("gives all attempts of a call one deadline signal of its own", async () => {
    const signals: AbortSignal[] = [];
    const client = clientOver(({ signal }) => {
      signals.push(signal);
      throw new SekishoError("unavailable");
    });
    const caller = new AbortController();
    await expect(execute(client, { signal: caller.signal })).rejects.toThrow();
    expect(signals).toHaveLength(3);
    expect(new Set([...signals, caller.signal]).size).toBe(2);
  });

  it("runs the first wrapper of the list as the outermost", async () => {
    const order: string[] = [];
    const namedWrapper =
      (name: string): Wrapper =>
      (next) =>
      async (call) => {
        order.push(`${name} in`);
        const result = await next(call);
        order.push(`${name} out`);
        return result;
      };
    const innermost = async () => ({ status: "success", response_text: "" }) as const;
    await compose({ wrappers: [namedWrapper("a"), namedWrapper("b")], innermost })(
      {} as RunningCall,
    );
    expect(order).toEqual(["a in", "b in", "b out", "a out"]);
  });
});

describe("a client", () => {
  it("offers to stop sessions only if the transport does", () => {
    expect(clientOver(successResponse).stopSession).toBeUndefined();
    expect(
      clientOver(successResponse, { transport: { stopSession: async () => {} } }).stopSession,
    ).toBeDefined();
  });

  it("logs ids, kinds and durations, but never texts, tokens or messages of exceptions", async () => {
    const { log, lines, entries } = collectLog({ level: "debug" });
    let count = 0;
    const client = clientOver(
      (request) => {
        count += 1;
        const cause = Object.assign(new Error("the text of a cause"), { code: "ECONNRESET" });
        if (count === 1) throw new SekishoError("unavailable", { cause });
        return successResponse(request);
      },
      { log },
    );
    const requestId = "0e984725-c51c-4bf4-9960-e1c80e27aba0";
    await execute(client, { requestId });
    const [failedEntry, answeredEntry] = entries();
    expect(failedEntry).toMatchObject({
      request_id: requestId,
      operation: "execute_task",
      attempt: 1,
      reason: "unavailable",
      cause_kind: "ECONNRESET",
      destination: "peer",
    });
    expect(answeredEntry).toMatchObject({
      request_id: requestId,
      attempt: 2,
      operation: "execute_task",
      trace_id: failedEntry?.trace_id,
    });
    expect(answeredEntry?.duration_ms).toEqual(expect.any(Number));
    expect(lines.join("")).not.toMatch(/text of a|xoxb|done/);
  });

  it("logs every call with the request id of its task, even if the call has only the task id", async () => {
    const { log, entries } = collectLog();
    const requestId = "0e984725-c51c-4bf4-9960-e1c80e27aba0";
    const common = { requestId, sessionId: "s".repeat(33), timeoutMs: 1000, trace: createTrace() };
    const client = clientOver(successResponse, { log });
    await client.call({
      method: "get_task",
      params: { task_id: "t-1" },
      id: randomUUID(),
      ...common,
    });
    const cancel = { method: "cancel_task", params: { task_id: "t-1" }, id: randomUUID() } as const;
    await expect(client.call({ ...cancel, ...common })).rejects.toMatchObject({
      reason: "invalid_response",
    });
    expect(entries()).toMatchObject([
      { message: "call_answered", operation: "get_task", request_id: requestId, task_id: "t-1" },
      {
        message: "call_failed",
        operation: "cancel_task",
        request_id: requestId,
        task_id: "t-1",
        reason: "invalid_response",
      },
    ]);
  });

  it("logs the task id that only the failure contains", async () => {
    const { log, entries } = collectLog();
    const client = clientOver(
      () => {
        throw new SekishoError("execution_failed", { details: { task_id: "t-1" } });
      },
      { log },
    );
    await expect(execute(client)).rejects.toMatchObject({ reason: "execution_failed" });
    expect(entries()).toMatchObject([
      {
        operation: "execute_task",
        request_id: expect.any(String),
        task_id: "t-1",
        reason: "execution_failed",
      },
    ]);
  });
});

describe("the deadline of a call", () => {
  beforeEach(() => void jest.useFakeTimers());

  afterEach(() => void jest.useRealTimers());

  /** A peer that takes the request and never answers; what the transport is told meanwhile. */
  function silentPeer() {
    const signals: AbortSignal[] = [];
    const client = clientOver(
      ({ signal }) =>
        new Promise((_resolve, reject) => {
          signals.push(signal);
          signal.addEventListener("abort", () => reject(new Error("given up")));
        }),
      // It does not deduplicate: nothing is repeated.
      { idempotent: false, now: Date.now },
    );
    return { client, isGivenUp: () => signals.map(({ aborted }) => aborted) };
  }

  it.each([
    ["its own time limit", { timeoutMs: 12_000 }, 12_000],
    ["the destination's time limit, if its own is longer", { timeoutMs: 8 * 3600_000 }, 30_000],
  ])("aborts a call after %s", async (_name, input, afterMs) => {
    const { client, isGivenUp } = silentPeer();
    const call = expect(execute(client, input)).rejects.toThrow();
    await jest.advanceTimersByTimeAsync(afterMs - 1);
    expect(isGivenUp()).toEqual([false]);
    await jest.advanceTimersByTimeAsync(1);
    expect(isGivenUp()).toEqual([true]);
    await call;
  });

  it("leaves no timer behind when a call was answered or aborted", async () => {
    const { client, isGivenUp } = silentPeer();
    const caller = new AbortController();
    const call = expect(execute(client, { signal: caller.signal })).rejects.toThrow();
    await jest.advanceTimersByTimeAsync(1000);
    caller.abort();
    await call;
    expect(isGivenUp()).toEqual([true]);
    expect(jest.getTimerCount()).toBe(0);
  });
});

function measureCalls(send: Scripted) {
  const { metrics, counted } = recordedMetrics();
  const { now, sleep } = virtualTime();
  const client = clientOver(send, {
    telemetry: { metrics, spans: noSpans },
    now,
    sleep,
    random: () => 1,
  });
  const of = (name: string) =>
    counted.filter(([each]) => each === name).map(([, labels, value]) => ({ ...labels, value }));
  return { client, of };
}

const call = { destination: "peer", operation: "execute_task" };

describe("a call to a destination", () => {
  it("counts a repeated call once with its total duration, and its repetitions separately", async () => {
    let attempts = 0;
    const { client, of } = measureCalls((request) => {
      attempts += 1;
      if (attempts < 3)
        throw new SekishoError("unavailable", { details: { retry_after_ms: 1000 } });
      return successResponse(request);
    });
    await execute(client);
    expect(of("sekisho_calls_total")).toEqual([{ ...call, result: "ok", value: 1 }]);
    expect(of("sekisho_retries_total")).toEqual([
      { ...call, value: 1 },
      { ...call, value: 1 },
    ]);
    const [{ value } = { value: 0 }] = of("sekisho_call_seconds");
    expect(value).toBeGreaterThanOrEqual(2);
    expect(value).toBeLessThan(10);
  });

  it("counts a failed call by its reason", async () => {
    const { client, of } = measureCalls(() => {
      throw new SekishoError("permission_denied");
    });
    await expect(execute(client)).rejects.toMatchObject({ reason: "permission_denied" });
    expect(of("sekisho_calls_total")).toEqual([{ ...call, result: "permission_denied", value: 1 }]);
    expect(of("sekisho_retries_total")).toEqual([]);
  });

  it("counts a call that an open circuit refuses, and reports the state of the circuit", async () => {
    let isDown = true;
    const { metrics, counted } = recordedMetrics();
    const { time, now, sleep } = virtualTime();
    const send: Scripted = (request) => {
      if (isDown) throw new SekishoError("unavailable");
      return successResponse(request);
    };
    const client = clientOver(send, { telemetry: { metrics, spans: noSpans }, now, sleep });
    const states = () =>
      counted.filter(([name]) => name === "sekisho_circuit_open").map(([, , value]) => value);
    for (let calls = 0; calls < 6; calls += 1) await expect(execute(client)).rejects.toThrow();
    expect(states()).toEqual([0, 0, 0, 0, 1, 1]);
    expect(counted.filter(([name]) => name === "sekisho_calls_total")).toHaveLength(6);
    isDown = false;
    time.nowMs += 10_000;
    await execute(client);
    expect(states().at(-1)).toBe(0);
  });
});
