/** Where a process is told which log lines to write. */
import { describe, expect, it } from "@jest/globals";
import { readEnvironment } from "../../../lambdas/shared/config/environment.ts";
import { toLogSettings } from "../../../lambdas/shared/config/telemetry-schema.ts";

const unsaid = { logLevel: undefined, debugRatio: undefined };

describe("which log lines are written", () => {
  it("is what the entry does by itself, where nobody says anything", () => {
    expect(toLogSettings({ environment: unsaid })).toEqual({ level: "info", debugRatio: 0 });
    expect(toLogSettings({ environment: unsaid, level: "warn" })).toEqual({ level: "warn", debugRatio: 0 });
  });

  it("is what the configuration says, and before it what the environment does", () => {
    const config = { level: "error", debugRatio: 0.1 } as const;
    expect(toLogSettings({ environment: unsaid, config, level: "warn" })).toEqual(config);
    const environment = readEnvironment({ SEKISHO_LOG_LEVEL: "debug", SEKISHO_LOG_DEBUG_RATIO: "0" });
    expect(toLogSettings({ environment, config })).toEqual({ level: "debug", debugRatio: 0 });
  });

  it.each(["2", "-0.1", "some", "1,5"])("refuses the share %j by name", (SEKISHO_LOG_DEBUG_RATIO) => {
    expect(() => readEnvironment({ SEKISHO_LOG_DEBUG_RATIO })).toThrow("SEKISHO_LOG_DEBUG_RATIO: a number from 0 to 1");
  });
});
