/** The stages of tests that a mutation passes, the cheapest first. One failure is enough. */
import { execFile, spawn } from "node:child_process";
import { dirname, join, relative } from "node:path";
import { promisify } from "node:util";

const jest = "node_modules/jest/bin/jest.js";
const tsc = "node_modules/typescript/bin/tsc";

type Copy = { folder: string; signal: AbortSignal };
type Request = Copy & { file: string; isWide: boolean };

/** Suites that take minutes. The simulation stands for them. */
const slow = /^test\/(faults|rehearsal|browser|load|bench|package|campaign|docs|e2e)\//;
/** A mutation that makes an endless loop is found by this. */
const hangMs = 600_000;
/** One that leaves a promise pending, by this. */
const testMs = 60_000;

/** Traces and metrics are tested for both zones together. */
const inZones = /^test\/(contracts|shared|execution|verification|e2e\/(trace|metrics)\.)/;

/** The stage and the tests that fail. Undefined where everything passes. */
export async function findFailure(request: Request): Promise<string | undefined> {
  if (!(await compiles(request))) return "types: tsc --noEmit";
  const related = await listRelated(request);
  const beside = testsBeside(request.file, related);
  const zone = related.filter((test) => inZones.test(test) && !beside.includes(test));
  const wide = related.filter(
    (test) => !inZones.test(test) && !slow.test(test) && !beside.includes(test),
  );
  const stages = [
    { name: "beside", run: () => failuresOf(request, beside) },
    { name: "zone", run: () => failuresOf(request, zone) },
    { name: "simulation", run: () => runSimulation(request) },
    ...(request.isWide ? [{ name: "wide", run: () => failuresOf(request, wide) }] : []),
  ];
  for (const { name, run } of stages) {
    const failure = await run();
    if (failure !== undefined) return `${name}: ${failure}`;
  }
  return undefined;
}

/** The test of the same name, or those of the same folder where there is none. */
function testsBeside(file: string, related: readonly string[]): string[] {
  const own = file.replace(/^(lambdas\/)?/, "test/").replace(/\.ts$/, ".test.ts");
  return related.includes(own) ? [own] : related.filter((test) => dirname(test) === dirname(own));
}

/** The test files that the file is loaded by. */
async function listRelated({ folder, file }: Pick<Request, "folder" | "file">): Promise<string[]> {
  const args = [join(folder, jest), "--listTests", "--findRelatedTests", file];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder });
  return stdout
    .split("\n")
    .flatMap((path) => (path === "" ? [] : relative(folder, path)))
    .sort();
}

/** The tests among these that fail in the copy. */
export async function failuresOf(
  { folder, signal }: Copy,
  tests: readonly string[],
): Promise<string | undefined> {
  if (tests.length === 0) return undefined;
  const { code, stderr } = await run({
    folder,
    signal,
    args: [
      join(folder, jest),
      "--runInBand",
      "--bail",
      `--testTimeout=${testMs}`,
      "--runTestsByPath",
      ...tests,
    ],
  });
  const failed = new Set(
    [...stderr.matchAll(/^FAIL (?:core |lab )?(\S+)/gm)].map(([, test]) => test),
  );
  return code === 0 ? undefined : [...failed].join(" ") || `exit code ${code}`;
}

/** Whether the compiler takes the copy. What it knows from the time before makes this a matter of three seconds. */
export async function compiles({ folder, signal }: Copy): Promise<boolean> {
  const state = join(folder, ".tsbuildinfo");
  const args = [join(folder, tsc), "--noEmit", "--incremental", "--tsBuildInfoFile", state];
  return (await run({ folder, signal, args })).code === 0;
}

async function runSimulation({ folder, signal }: Copy): Promise<string | undefined> {
  const args = ["--max-semi-space-size=64", "test/faults/run.ts", "--scenario", "all"];
  const { code } = await run({ folder, signal, args });
  return code === 0 ? undefined : "npm run faults -- --scenario all";
}

/** `code`: or what ended it. Whatever it has started ends with it. */
async function run({ folder, signal, args }: Copy & { args: readonly string[] }) {
  let stderr = "";
  if (signal.aborted) return { code: "interrupted", stderr };
  const { promise, resolve } = Promise.withResolvers<number | string>();
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  child.stderr.setEncoding("utf8").on("data", (chunk) => {
    stderr += chunk;
  });
  const end = () => child.pid !== undefined && process.kill(-child.pid, "SIGKILL");
  const limit = setTimeout(end, hangMs);
  signal.addEventListener("abort", end);
  child.once("error", (error) => resolve(error.message));
  child.once("close", (code, killedBy) => resolve(code ?? killedBy ?? "no exit code"));
  const code = await promise;
  clearTimeout(limit);
  signal.removeEventListener("abort", end);
  return { code, stderr };
}
