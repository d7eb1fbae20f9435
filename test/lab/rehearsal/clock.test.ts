import { describe, expect, it } from "@jest/globals";
import { clock, startProcess } from "./clock.ts";

const hourMs = 3600_000;

describe("the clock of a rehearsal", () => {
  it("moves Date and fires due timers in their order, but not others", async () => {
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

  it("moves the clock of a waiting process and fires its timer", async () => {
    const script = `
      const { setTimeout: wait } = require("node:timers/promises");
      wait(${hourMs}).then(() => { console.log(Date.now()); process.disconnect(); });
      console.log("waits");`;
    const [started, woken] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()];
    const onLine = (line: string) =>
      line === "waits" ? started.resolve() : woken.resolve(Number(line));
    startProcess({ args: ["-e", script], environment: {}, onLine });
    await started.promise;
    await clock.advance(hourMs);
    const atMs = Date.now();
    expect(Math.abs((await woken.promise) - atMs)).toBeLessThan(hourMs / 2);
  });
});
