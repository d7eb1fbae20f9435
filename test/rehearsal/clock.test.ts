import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "@jest/globals";
import { clock, inRehearsalTime, keepInTime, timeVariables, withChannel } from "./clock.ts";
import { endWithUs } from "./reaper.ts";

const hourMs = 3600_000;

describe("when the clock of a rehearsal moves", () => {
  it("Date moves, and timers that are due then fire in their order, but not others", async () => {
    const fired: string[] = [];
    const beforeMs = Date.now();
    setTimeout(() => fired.push("second"), hourMs);
    setTimeout(() => fired.push("first"), hourMs / 2);
    const stopped = setTimeout(() => fired.push("stopped"), hourMs / 2);
    const later = setTimeout(() => fired.push("later"), 3 * hourMs);
    clearTimeout(stopped);
    await clock.advance(2 * hourMs);
    expect(fired).toEqual(["first", "second"]);
    expect(Date.now() - beforeMs).toBeGreaterThanOrEqual(2 * hourMs);
    expect(Date.parse(new Date().toISOString()) - beforeMs).toBeGreaterThanOrEqual(2 * hourMs);
    expect(new Date(0)).toBeInstanceOf(Date);
    clearTimeout(later);
  });

  it("a process that waits hears of it, and had started with what there was before", async () => {
    const script = `
      const { setTimeout: wait } = require("node:timers/promises");
      wait(${hourMs}).then(() => { process.stdout.write(String(Date.now())); process.disconnect(); });
      process.stdout.write("waits");`;
    const child = spawn(process.execPath, [...inRehearsalTime, "-e", script], {
      env: timeVariables(),
      stdio: withChannel,
    });
    keepInTime(child);
    endWithUs(child);
    await once(child.stdout ?? child, "data");
    const told = once(child.stdout ?? child, "data");
    await clock.advance(hourMs);
    const atMs = Date.now();
    const [output] = (await told) as [Buffer];
    expect(Math.abs(Number(output) - atMs)).toBeLessThan(hourMs / 2);
  });
});
