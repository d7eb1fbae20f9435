import { describe, expect, it } from "@jest/globals";
import { createSessions } from "./agent-sessions.ts";

const never = async () => false;

function open({ activeSessions = 2, newSessionsPerSecond = 100 } = {}) {
  let nowMs = 0;
  const quotas = { activeSessions, newSessionsPerSecond };
  const lifecycle = { idleSeconds: 900, maxLifetimeSeconds: 28_800 };
  const sessions = createSessions({ quotas, lifecycle, now: () => nowMs });
  const pass = (seconds: number) => {
    nowMs += seconds * 1000;
  };
  return { sessions, pass };
}

describe("sessions of AgentCore", () => {
  it("are refused beyond the quota of active ones, until one has ended", () => {
    const { sessions } = open();
    expect(["a", "b", "c"].map(sessions.start)).toEqual([undefined, undefined, "ServiceQuotaExceededException"]);
    sessions.end("a");
    expect(sessions.start("c")).toBeUndefined();
  });

  it("are throttled where too many start in a second", () => {
    const { sessions, pass } = open({ newSessionsPerSecond: 1 });
    expect(["a", "b"].map(sessions.start)).toEqual([undefined, "ThrottlingException"]);
    pass(1);
    expect(sessions.start("b")).toBeUndefined();
  });

  it("end when they were not used for the idle time-out, which begins with the end of a call", async () => {
    const { sessions, pass } = open();
    sessions.start("a");
    const done = sessions.use("a");
    pass(2000);
    expect(await sessions.expired(never)).toEqual([]);
    done();
    pass(899);
    expect(await sessions.expired(never)).toEqual([]);
    pass(1);
    expect(await sessions.expired(never)).toEqual(["a"]);
  });

  it("stay while their ping says HealthyBusy, but never beyond the longest life", async () => {
    const { sessions, pass } = open();
    sessions.start("a");
    pass(900);
    expect(await sessions.expired(async () => true)).toEqual([]);
    expect(await sessions.expired(never)).toEqual([]);
    pass(27_900);
    expect(await sessions.expired(async () => true)).toEqual(["a"]);
  });
});
