/** The live settings: noticed within a minute, and never in the way. */
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { createLiveConfig } from "@sekisho/verification/worker/live-config.ts";
import { collectLog } from "../../doubles/collect-log.ts";

const deployedConfig = parseConfig({ json: {} });
const routesTo = (team: string) => JSON.stringify({ routes: [{ team, destination: "local" }] });

function setUp(first: string | Error = "{}") {
  const state = { stored: first, nowMs: 1000, reads: 0 };
  const { log, lines } = collectLog();
  const live = createLiveConfig({
    deployed: deployedConfig,
    read: async () => {
      state.reads += 1;
      if (state.stored instanceof Error) throw state.stored;
      return state.stored;
    },
    log,
    now: () => state.nowMs,
  });
  /** The teams of the routes that hold in an invocation at that moment. */
  async function teamsAt(ms: number) {
    state.nowMs = ms;
    const { routes } = await live.current();
    await live.waitForRead();
    return routes.map(({ team }) => team);
  }
  return { state, lines, live, teamsAt };
}

describe("the live settings", () => {
  it("reads the live settings before the first task", async () => {
    const { teamsAt } = setUp(routesTo("T1"));
    expect(await teamsAt(1000)).toEqual(["T1"]);
  });

  it("keeps the settings for 30 seconds and then reads them again in the background", async () => {
    const { state, teamsAt } = setUp(routesTo("T1"));
    await teamsAt(1000);
    state.stored = routesTo("T2");
    expect(await teamsAt(30_999)).toEqual(["T1"]);
    expect(state.reads).toBe(1);
    expect(await teamsAt(31_000)).toEqual(["T1"]);
    expect(await teamsAt(31_001)).toEqual(["T2"]);
    expect(state.reads).toBe(2);
  });

  it("waits for new settings after a longer pause", async () => {
    const { state, teamsAt } = setUp(routesTo("T1"));
    await teamsAt(1000);
    state.stored = routesTo("T2");
    expect(await teamsAt(61_000)).toEqual(["T2"]);
  });

  it("keeps the last valid settings if new ones are unreadable, and logs that without their text", async () => {
    const { state, lines, teamsAt } = setUp(routesTo("T1"));
    await teamsAt(1000);
    const bad = ["{", "[]", '{"routes":[{"destination":"TOP-SECRET"}]}', new Error("TOP-SECRET")];
    for (const [index, storedSettings] of bad.entries()) {
      state.stored = storedSettings;
      expect(await teamsAt(100_000 * (index + 1))).toEqual(["T1"]);
    }
    const messages = lines.map((line) => JSON.parse(line).message);
    expect(messages).toEqual([
      "live_settings_read",
      ...Array<string>(3).fill("live_settings_refused"),
      "live_settings_unreadable",
    ]);
    expect(lines.join("")).not.toContain("SECRET");
    state.stored = routesTo("T3");
    expect(await teamsAt(900_000)).toEqual(["T3"]);
  });

  it("logs the destination of settings that were pushed for another peer", async () => {
    const { lines, teamsAt } = setUp(
      JSON.stringify({ destinations: { local: { fingerprint: "another" } } }),
    );
    await teamsAt(1000);
    expect(lines.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        level: "warn",
        message: "live_settings_outdated",
        destination: "local",
      }),
    );
  });

  it("uses the deployed configuration if the settings were never readable", async () => {
    const { live } = setUp(new Error("access denied"));
    expect(await live.current()).toBe(deployedConfig);
  });

  it("returns the same object for unchanged settings, so that nothing is created again", async () => {
    const { state, live } = setUp(routesTo("T1"));
    const first = await live.current();
    state.nowMs += 100_000;
    expect(await live.current()).toBe(first);
    expect(state.reads).toBe(2);
  });

  it("reads the settings once for concurrent invocations", async () => {
    const { state, live } = setUp();
    await Promise.all([live.current(), live.current()]);
    expect(state.reads).toBe(1);
  });
});
