/**
 * Plays the same random stories in another checkout and in this one, each in a process of its own, and compares what people see at the end.
 * The other checkout draws the faults, by the numbers of calls. Where this one makes other calls, the same numbers are other faults, so
 * there only the promises are compared: that neither violates an invariant.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import type { PlayedStory } from "./children/play-stories.ts";

const root = join(import.meta.dirname, "../../..");
/** Differences that are printed in full. Further ones are only counted. */
const maxPrinted = 12;
const progressEvery = 1000;

/** Resolves to true if nothing differs and this checkout violates nothing. `onStart` gets each process, so that it can be ended. */
export async function compareWith(request: {
  folder: string;
  seed: number;
  runs: number;
  onStart: (child: ChildProcess) => unknown;
}): Promise<boolean> {
  const { folder, seed, runs, onStart } = request;
  const players = [startPlayer(folder, [`${seed}`, `${runs}`]), startPlayer(root)] as const;
  const [other, own] = players;
  for (const { child } of players) onStart(child);
  const tally = { runs: 0, sameCalls: 0, sameSight: 0, differences: 0, violations: 0, formerly: 0 };
  const print = () => process.stdout.write(`${JSON.stringify(tally)}\n`);
  for (;;) {
    const there = await other.read();
    if (there === undefined) break;
    own.child.stdin.write(`${there.plan}\n`);
    const here = await own.read();
    if (here === undefined) break;
    const isSameSight = isDeepStrictEqual(here.sight, there.sight);
    const isDifferent = here.calls === there.calls && !isSameSight;
    const isViolated = here.violations.length > 0;
    tally.runs += 1;
    tally.sameCalls += Number(here.calls === there.calls);
    tally.sameSight += Number(isSameSight);
    tally.differences += Number(isDifferent);
    tally.violations += Number(isViolated);
    tally.formerly += Number(there.violations.length > 0);
    if ((isDifferent || isViolated) && tally.differences + tally.violations <= maxPrinted)
      process.stdout.write(describe(here, there));
    if (tally.runs % progressEvery === 0) print();
  }
  for (const { child } of players) child.kill();
  print();
  return tally.runs === runs && tally.differences === 0 && tally.violations === 0;
}

function startPlayer(folder: string, args: readonly string[] = []) {
  const program = join(import.meta.dirname, "children/play-stories.ts");
  const flags = ["--max-semi-space-size=64", "--import", "zod/compile"];
  const child = spawn(process.execPath, [...flags, program, ...args], {
    cwd: folder,
    stdio: ["pipe", "pipe", "inherit"],
  });
  // A process that ended is noticed when it is read.
  child.stdin.on("error", () => {});
  if (args.length > 0) child.stdin.end();
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  async function read(): Promise<PlayedStory | undefined> {
    const { done, value } = await lines.next();
    return done ? undefined : JSON.parse(value);
  }
  return { child, read };
}

function describe(here: PlayedStory, there: PlayedStory): string {
  const toLines = ({ sight }: PlayedStory) => sight.map((one) => JSON.stringify(one));
  const [ownLines, otherLines] = [toLines(here), toLines(there)];
  return [
    ...here.violations.map((violation) => `VIOLATED: ${violation}`),
    ...there.violations.map((violation) => `VIOLATED there, too: ${violation}`),
    ...otherLines.filter((text) => !ownLines.includes(text)).map((text) => `- ${text}`),
    ...ownLines.filter((text) => !otherLines.includes(text)).map((text) => `+ ${text}`),
    `Repeat it, here and there, with: npm run faults -- --replay '${there.plan}'\n\n`,
  ].join("\n");
}
