/** What calls to a destination count, through the runner that composes the wrappers. */
import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "../../../../contracts/errors.ts";
import { noSpans } from "../../../../lambdas/shared/telemetry/telemetry.ts";
import { recordedMetrics } from "../../../shared/telemetry/recorded.ts";
import { clientOver, done, execute, type Scripted, virtualTime } from "../sample.ts";

function measured(send: Scripted) {
  const { metrics, counted } = recordedMetrics();
  const { now, sleep } = virtualTime();
  const client = clientOver(send, { telemetry: { metrics, spans: noSpans }, now, sleep, random: () => 1 });
  const of = (name: string) =>
    counted.filter(([each]) => each === name).map(([, labels, value]) => ({ ...labels, value }));
  return { client, of };
}

const call = { destination: "peer", operation: "execute_task" };

describe("a call to a destination", () => {
  it("is one call however often it is repeated, with all the time that it took; repetitions are counted apart", async () => {
    let attempts = 0;
    const { client, of } = measured((request) => {
      attempts += 1;
      if (attempts < 3) throw new SekishoError("unavailable", { details: { retry_after_ms: 1000 } });
      return done(request);
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

  it("is counted by why it failed", async () => {
    const { client, of } = measured(() => {
      throw new SekishoError("permission_denied");
    });
    await expect(execute(client)).rejects.toMatchObject({ reason: "permission_denied" });
    expect(of("sekisho_calls_total")).toEqual([{ ...call, result: "permission_denied", value: 1 }]);
    expect(of("sekisho_retries_total")).toEqual([]);
  });

  it("is counted also where an open circuit refuses it; the gauge says when that is, and when it is over", async () => {
    let isDown = true;
    const { metrics, counted } = recordedMetrics();
    const { time, now, sleep } = virtualTime();
    const send: Scripted = (request) => {
      if (isDown) throw new SekishoError("unavailable");
      return done(request);
    };
    const client = clientOver(send, { telemetry: { metrics, spans: noSpans }, now, sleep });
    const states = () => counted.filter(([name]) => name === "sekisho_circuit_open").map(([, , value]) => value);
    for (let calls = 0; calls < 6; calls += 1) await expect(execute(client)).rejects.toThrow();
    expect(states()).toEqual([0, 0, 0, 0, 1, 1]);
    expect(counted.filter(([name]) => name === "sekisho_calls_total")).toHaveLength(6);
    isDown = false;
    time.nowMs += 10_000;
    await execute(client);
    expect(states().at(-1)).toBe(0);
  });
});
