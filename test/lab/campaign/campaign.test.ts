/** The campaign gives new seeds to every random search, and stops when it is told to. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "@jest/globals";
import { searchesOf } from "./searches.ts";

const dayMs = 24 * 3600_000;
const wishes = { seed: 41, propertySeconds: 5, simulationSeconds: 60, textSeconds: 70 };
const propertyFiles = ["test/a.test.ts"];
const startedProcesses = new Set<{ kill: (signal: "SIGKILL") => boolean }>();

function campaign(...args: string[]) {
  return start("run.ts", ...args);
}

function start(program: string, ...args: string[]) {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), ...args]);
  startedProcesses.add(child);
  let output = "";
  const results = new Promise<number | null>((resolve) => child.once("close", resolve));
  const seen = (text: string) =>
    new Promise<void>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.on("data", (piece: Buffer) => {
          output += piece;
          if (output.includes(text)) resolve();
        });
      }
      void results.then(() => resolve());
    });
  return { child, ended: results, seen, output: () => output };
}

afterEach(() => {
  for (const child of startedProcesses) child.kill("SIGKILL");
  startedProcesses.clear();
});

describe("a day's campaign", () => {
  it("passes its seed to every property and to the simulation", () => {
    const [properties, chance] = searchesOf(wishes, { propertyFiles, nowMs: 0 });
    expect(properties).toMatchObject([
      { env: { SEKISHO_PROPERTY_SEED: "41", SEKISHO_PROPERTY_SECONDS: "5" } },
    ]);
    expect(properties?.[0]?.args).toContain("test/a.test.ts");
    expect(chance?.map(({ args }) => args.slice(args.indexOf("--seed")))).toEqual([
      ["--seed", "41"],
      ["--seed", "999999959"],
    ]);
  });

  it("searches for slow texts last, in a group of its own", () => {
    const searches = searchesOf(wishes, { propertyFiles, nowMs: 0 }).at(-1);
    expect(searches?.map(({ args }) => args)).toEqual([
      ["test/lab/campaign/slow-texts.ts", "--seed", "41", "--seconds", "70"],
    ]);
  });

  it("searches for slow texts and prints the slowest ones", async () => {
    const {
      seen,
      ended: results,
      output,
    } = start("slow-texts.ts", "--seed", "3", "--seconds", "1");
    await seen("steps per character");
    expect(await results).toBe(0);
    expect(output()).toMatch(/texts of 65536 characters, seed 3/);
  });

  it("covers every pair of faults within twelve days", () => {
    const days = Array.from({ length: 12 }, (_, day) =>
      searchesOf(wishes, { propertyFiles, nowMs: (5 + day) * dayMs }),
    );
    const parts = days.flatMap((groups) => groups[2]?.map(({ args }) => args.at(-1)));
    expect(new Set(parts)).toEqual(
      new Set(Array.from({ length: 24 }, (_, index) => `${index + 1}/24`)),
    );
  });
});

describe("npm run campaign", () => {
  it("prints its usage", async () => {
    const asked = campaign("--help");
    await asked.seen("Usage: npm run campaign");
    expect(await asked.ended).toBe(0);
    const wrong = campaign("--seed", "x");
    await wrong.seen("Usage: npm run campaign");
    expect(await wrong.ended).toBe(2);
    expect(wrong.output()).toContain('--seed is a whole number from 1 to 999999999, not "x".');
  });

  it("plays the same stories in another checkout, and compares what people see", async () => {
    const root = join(import.meta.dirname, "../../..");
    const { seen, ended, output } = campaign("--beside", root, "--seed", "3", "--runs", "4");
    await seen("Campaign with seed 3: ");
    expect(await ended).toBe(0);
    expect(output()).toContain('"runs":4,"sameCalls":4,"sameSight":4,');
  });

  it("stops at Ctrl-C and prints the seed that repeats it", async () => {
    const {
      child,
      seen,
      ended: results,
      output,
    } = campaign("--seed", "12", "--property-seconds", "600");
    await seen("== properties, seed 12");
    child.kill("SIGINT");
    expect(await results).toBe(130);
    expect(output()).toContain("Campaign with seed 12: stopped");
    expect(output()).not.toContain("== simulation");
  });
});
