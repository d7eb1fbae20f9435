/** How long a call may take, and what that means for a stage. */
import { describe, expect, it } from "@jest/globals";
import {
  baseWorkerSeconds,
  callTimes,
  maxStageCallMs,
  resolveLongPollMs,
  resolveMaxPollGapMs,
  workerSeconds,
} from "@sekisho/config/call-time.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { withExecutionAddress } from "@sekisho/config/stage-config.ts";
import fc from "fast-check";
import { forAll } from "../doubles/for-all.ts";
import { problemsOf } from "./problems-of.ts";

const url = "https://agents.example/";
const token = { type: "bearer", token: { env: "TOKEN" } };
const far = (fields: object) => ({ transport: "https", url, authorizer: token, ...fields });
const stages = {
  dev: {
    execution: { kind: "external" },
    verification: { account: "111111111111", region: "eu-west-1" },
  },
};
const jsonWith = (fields: object, more: object = {}) => ({
  destinations: { far: far(fields) },
  routes: [{ destination: "far" }],
  ...more,
});

describe("the longest gap between polls", () => {
  const runtimeArn = "arn:aws:bedrock-agentcore:eu-central-1:222222222222:runtime/agent-1";
  const jsonOf = (destination: object) => ({ ...jsonWith({}), destinations: { far: destination } });
  const maxPollGapMs = (destination: object) => {
    const { destinations } = parseConfig({ json: jsonOf(destination) });
    const [parsedConfig] = Object.values(destinations);
    return parsedConfig && resolveMaxPollGapMs(parsedConfig);
  };

  it.each([
    ["a runtime of AgentCore, as AWS ends its sessions by default", {}, 450_000],
    ["a runtime with an idle time of its own", { idleSeconds: 60 }, 30_000],
  ])("limits the gap between polls to half of the idle time of %s", (_title, fields, gapMs) => {
    expect(maxPollGapMs({ transport: "agentcore", runtimeArn, ...fields })).toBe(gapMs);
  });

  it("sets no limit for the gap between polls at other destinations", () => {
    expect(maxPollGapMs(far({}))).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("a destination's longPollMs", () => {
  const longPollMs = (destination: object) => {
    const execution = { syncBudgetMs: 1000 };
    const config = parseConfig({ json: { destinations: { local: destination }, execution } });
    const [parsedConfig] = Object.values(config.destinations);
    return parsedConfig && resolveLongPollMs(parsedConfig, config);
  };

  it("polls the host on the same machine for ten seconds, or half of a shorter call time-out", () => {
    expect(longPollMs({ transport: "https" })).toBe(10_000);
    expect(longPollMs({ transport: "in-process" })).toBe(10_000);
    expect(longPollMs({ transport: "a2a" })).toBe(10_000);
    expect(longPollMs({ transport: "https", callTimeoutMs: 3001 })).toBe(1500);
  });

  it("turns long polls off by default for a remote destination", () => {
    expect(longPollMs(far({}))).toBe(0);
    const card = "http://127.0.0.1:1/card.json";
    expect(longPollMs({ transport: "a2a", card })).toBe(0);
    expect(longPollMs({ transport: "a2a", card, longPollMs: 5000 })).toBe(5000);
  });

  it("uses the configured longPollMs, up to 25000", () => {
    expect(longPollMs({ transport: "https", longPollMs: 0 })).toBe(0);
    expect(longPollMs(far({ longPollMs: 20_000 }))).toBe(20_000);
    expect(problemsOf(jsonWith({ longPollMs: 25_001 }))).toEqual([
      expect.stringMatching(/far\.longPollMs: .*25000/),
    ]);
  });

  it("turns long polls off for the Execution zone of a stage", () => {
    const config = parseConfig({ json: { destinations: { local: { transport: "https" } } } });
    const address = {
      transport: "https",
      url: "https://a.example/",
      region: "eu-central-1",
      functionArn: "arn",
    } as const;
    const { local } = withExecutionAddress({ config, address }).destinations;
    expect(local && resolveLongPollMs(local, config)).toBe(0);
  });
});

describe("a destination's callTimeoutMs", () => {
  it("applies callTimeoutMs to sends and replies, and lowers it to the default for polls and cancels", () => {
    const { limits } = parseConfig({ json: {} });
    expect(callTimes({}, { limits })).toEqual({ sendTimeoutMs: 30_000, callTimeoutMs: 30_000 });
    expect(callTimes({ callTimeoutMs: 300_000 }, { limits })).toEqual({
      sendTimeoutMs: 300_000,
      callTimeoutMs: 30_000,
    });
    expect(callTimes({ callTimeoutMs: 1000 }, { limits })).toEqual({
      sendTimeoutMs: 1000,
      callTimeoutMs: 1000,
    });
  });

  it("limits callTimeoutMs by fixed bounds and by the destination's other times", () => {
    expect(problemsOf(jsonWith({ callTimeoutMs: 600_000 }))).toEqual([]);
    for (const callTimeoutMs of [99, 600_001, 1.5, "1m"])
      expect(problemsOf(jsonWith({ callTimeoutMs })).join()).toContain(
        "destinations.far.callTimeoutMs",
      );
    expect(problemsOf(jsonWith({ callTimeoutMs: 60_000, deadlineMs: 60_000 }))).toEqual([]);
    expect(problemsOf(jsonWith({ callTimeoutMs: 60_001, deadlineMs: 60_000 }))).toEqual([
      expect.stringMatching(/far\.callTimeoutMs: must be at most deadlineMs \(60000\)/),
    ]);
    expect(problemsOf(jsonWith({ callTimeoutMs: 1000, longPollMs: 900 }))).toEqual([
      expect.stringMatching(/far\.longPollMs: must be less than 0\.9 times callTimeoutMs \(1000\)/),
    ]);
    expect(
      problemsOf({ destinations: { local: { transport: "https", callTimeoutMs: 1000 } } }),
    ).toEqual([
      expect.stringMatching(
        /execution\.syncBudgetMs: .*lower it to 899 or less, or raise the destination's callTimeoutMs/,
      ),
    ]);
  });

  it("requires callTimeoutMs to exceed the long poll, and names the setting to raise", () => {
    const withLongPoll = (longPollMs: number) =>
      problemsOf(
        jsonWith(
          { longPollMs },
          { limits: { callTimeoutMs: 1000 }, execution: { syncBudgetMs: 100 } },
        ),
      );
    expect(withLongPoll(899)).toEqual([]);
    expect(withLongPoll(900)).toEqual([
      expect.stringMatching(/longPollMs: .*or raise limits\.callTimeoutMs$/),
    ]);
  });

  it("limits callTimeoutMs in a stage, so that it does not delay the takeover from a killed worker", () => {
    expect(problemsOf(jsonWith({ callTimeoutMs: 405_000 }, { stages }))).toEqual([]);
    expect(problemsOf(jsonWith({ callTimeoutMs: 405_001 }, { stages }))).toEqual([
      expect.stringMatching(/far\.callTimeoutMs: must be at most 405000 if there are stages/),
    ]);
    const lease = fc.integer({ min: 40_000, max: 885_000 });
    forAll(lease).hold((leaseMs) => {
      const limits = { leaseMs, visibilityTimeoutMs: leaseMs + 1 };
      const bare = parseConfig({ json: { limits } });
      const mostMs = Math.min(maxStageCallMs(bare), 600_000);
      const config = parseConfig({ json: jsonWith({ callTimeoutMs: mostMs }, { limits, stages }) });
      expect(baseWorkerSeconds(config)).toBe(baseWorkerSeconds(bare));
      expect(workerSeconds(config)).toBeLessThanOrEqual(Math.min(900, 6 * baseWorkerSeconds(bare)));
      expect(workerSeconds(config) * 1000).toBeGreaterThanOrEqual(leaseMs + mostMs - 30_000);
    });
  });
});
