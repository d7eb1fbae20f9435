/** The simulation itself: it can fail, it can be repeated, and it says what is wrong with a command line. */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { faults, figuresOf } from "./command.ts";
import { mutants } from "./mutants.ts";
import { readOptions } from "./options.ts";

const mutant = ["--mutant", "response-id"];

describe("a safeguard removed from the product", () => {
  it("refuses an unknown mutant with exit code 2", async () => {
    const results = await faults("--mutant", "no-such-safeguard");
    expect(results).toEqual({
      code: 2,
      stdout: "",
      stderr: 'There is no mutant "no-such-safeguard".\n',
    });
  });
});

describe("a mutant", () => {
  // A replacement that calls what is gone would crash, and be found without its safeguard being missed.
  it.each(mutants)("replaces one place, and calls only what its file has: $name", (mutant) => {
    const { file, find, replace } = mutant;
    const [start = "", ...others] = readFileSync(join(__dirname, "../..", file), "utf8").split(
      find,
    );
    expect(others).toHaveLength(1);
    const text = start + others.join("");
    const calls = [...replace.matchAll(/(?<![.\w])([a-z]\w+)\(/g)].map(([, name = ""]) => name);
    const missing = calls.filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
    expect(missing.filter((name) => !(name in globalThis) && !find.includes(name))).toEqual([]);
  });
});

describe("a failure", () => {
  it("shrinks a failure to the faults that it needs and prints it step by step", async () => {
    const { stdout } = await faults(
      "--mutant",
      "wake-before-save",
      "--story",
      "sync",
      "--engine",
      "aws",
      "--runs",
      "400",
    );
    const [, plan = ""] = /--replay '([^']+)'/.exec(stdout) ?? [];
    expect(plan).toMatch(/^sync\/aws\/0\/\d+:\w+$/);
    expect(stdout).toMatch(/^ +1 +0\.000 s {2}Slack +slack\.event/m);
    expect(stdout).toMatch(/<== \w+$/m);
  });

  it("repeats a failure by its plan with the mutant, and not without it", async () => {
    const found = await faults(...mutant);
    const [, plan = ""] = /--replay '([^']+)'/.exec(found.stdout) ?? [];
    const [again, onceMore] = [
      await faults(...mutant, "--replay", plan),
      await faults(...mutant, "--replay", plan),
    ];
    expect(again.code).toBe(1);
    expect(found.stdout).toContain(again.stdout.trimEnd());
    expect(onceMore).toEqual(again);
    expect(await faults("--replay", plan)).toMatchObject({ code: 0 });
  });
});

describe("a run", () => {
  it.each(["sync/sqlite/0/", "thread/aws/4711/20:lost,60:dies_after,90:slow"])(
    "runs a plan the same way twice: %s",
    async (plan) => {
      const [one, other] = [await faults("--replay", plan), await faults("--replay", plan)];
      expect(one.stdout.length).toBeGreaterThan(1000);
      expect(other).toEqual(one);
    },
  );

  it("runs differently with another seed", async () => {
    const [one, other] = [
      await faults("--replay", "sync/aws/1/"),
      await faults("--replay", "sync/aws/2/"),
    ];
    expect(other.stdout).not.toBe(one.stdout);
  });
});

describe("the command", () => {
  it.each([
    [["--engine", "steam"], "--engine is sqlite or aws."],
    [["--exhaustive", "three"], "--exhaustive is one or two."],
    [["--runs", "many"], '--runs is a whole number from 0 to 2147483647 (2^31 - 1), not "many".'],
    [
      ["--seed", "3141592653"],
      '--seed is a whole number from 0 to 2147483647 (2^31 - 1), not "3141592653".',
    ],
    [["--part", "3/2"], '--part is such as 1/2, not "3/2".'],
    [["--frobnicate"], "Unknown option '--frobnicate'"],
  ])("explains what is wrong with the options %j", (args, problem) => {
    expect(() => readOptions(args)).toThrow(problem);
  });

  it.each([
    [["--engine", "steam"], "Usage: npm run faults"],
    [["--story", "nowhere"], 'There is no story "nowhere": there are sync,'],
    [["--replay", "sync/sqlite/x/"], '"x" is no seed.'],
    [["--replay", "nowhere/sqlite/0/"], 'There is no story "nowhere".'],
    [["--replay", "sync/sqlite/0/1:rain"], '"1:rain" is no fault such as 12:lost.'],
  ])("refuses the options %j with exit code 2", async (args, problem) => {
    const { code, stdout, stderr } = await faults(...args);
    expect(stderr).toContain(problem);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  });

  it("prints its usage", async () => {
    const { code, stdout } = await faults("--help");
    expect(stdout).toContain("Usage: npm run faults");
    expect(code).toBe(0);
  });

  it("prints the results so far when it is interrupted", async () => {
    const child = spawn(process.execPath, ["test/faults/run.ts", "--runs", "1000000"], {
      cwd: join(import.meta.dirname, "../.."),
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
    });
    // The first line of progress says that it is under way.
    child.stderr.once("data", () => child.kill("SIGINT"));
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(code).toBe(0);
    expect(figuresOf({ code: 0, stdout, stderr: "" }).runs).toBeGreaterThan(0);
  });
});
