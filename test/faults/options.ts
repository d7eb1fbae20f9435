/** The command line of the simulation, and what is wrong with it in words. */
import { parseArgs } from "node:util";
import { type EngineName, engineNames } from "./engines.ts";
import { mutants } from "./mutants.ts";
import type { Part } from "./search.ts";
import { mixNames } from "./versions/names.ts";

export const help = `Usage: npm run faults -- [options]

Runs the stories of Sekisho in a simulated world in which everything can go wrong, and says what broke.

  --seed N              chance to begin with, below 2^31 (default 1)
  --runs N              random runs (default 10000)
  --seconds N           stop after so many seconds
  --exhaustive one|two  instead: every fault, or every two faults, at every operation
  --story NAME          this story alone (can be given several times)
  --engine NAME         sqlite or aws alone
  --mix NAME            two versions of the product side by side, such as turns:minor (can be given several times);
                        all: every mix
  --old FOLDER          the sources of the old version: a checkout of a release (this folder)
  --part I/N            the I-th of N parts of an exhaustive search
  --replay PLAN         one run, told step by step
  --scenario NAME       a run of scenarios.ts, told step by step; all: every one of them
  --mutant NAME         with this safeguard of the product removed
  --help                this text`;

/** Without a place of its own, a mutant is looked for where it shows. */
function placeOf(name: string | undefined): {
  story?: string[];
  engine?: string;
  exhaustive?: string;
  mix?: string[];
} {
  const mutant = mutants.find((one) => one.name === name);
  return mutant === undefined
    ? {}
    : {
        story: [mutant.story],
        engine: mutant.engine,
        exhaustive: "one",
        ...(mutant.mix && { mix: [mutant.mix] }),
      };
}

export type Options = {
  seed: number;
  runs: number;
  seconds: number;
  depth: 1 | 2 | undefined;
  stories: readonly string[] | undefined;
  engines: readonly EngineName[];
  mixes: readonly string[];
  old: string | undefined;
  part: Part;
  replay: string | undefined;
  scenarios: string | undefined;
  mutant: string | undefined;
  isHelp: boolean;
};

/** Throws an Error for a person. */
export function readOptions(args: readonly string[]): Options {
  const { values: params } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string", default: "1" },
      runs: { type: "string", default: "10000" },
      seconds: { type: "string", default: "1000000" },
      exhaustive: { type: "string" },
      story: { type: "string", multiple: true },
      engine: { type: "string" },
      mix: { type: "string", multiple: true },
      old: { type: "string" },
      part: { type: "string", default: "1/1" },
      replay: { type: "string" },
      scenario: { type: "string" },
      mutant: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  const planParams = { ...placeOf(params.mutant), ...params };
  const depth =
    planParams.exhaustive === undefined
      ? undefined
      : ({ one: 1, two: 2 } as const)[planParams.exhaustive];
  if (planParams.exhaustive !== undefined && depth === undefined)
    throw new Error("--exhaustive is one or two.");
  const engines = engineNames.filter(
    (name) => planParams.engine === undefined || planParams.engine === name,
  );
  if (engines.length === 0) throw new Error(`--engine is ${engineNames.join(" or ")}.`);
  const mixes = (planParams.mix ?? []).flatMap((name) => (name === "all" ? mixNames : [name]));
  const unknown = mixes.find((name) => !mixNames.includes(name));
  if (unknown !== undefined)
    throw new Error(`There is no mix "${unknown}": there are ${mixNames.join(", ")}.`);
  return {
    mixes,
    old: planParams.old,
    seed: wholeNumber("seed", planParams.seed),
    runs: wholeNumber("runs", planParams.runs),
    seconds: wholeNumber("seconds", planParams.seconds),
    depth,
    stories: planParams.story,
    engines,
    part: readPart(planParams.part),
    replay: planParams.replay,
    scenarios: planParams.scenario,
    mutant: planParams.mutant,
    isHelp: planParams.help,
  };
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number >= 2 ** 31)
    throw new Error(`--${name} is a whole number from 0 to 2147483647 (2^31 - 1), not "${text}".`);
  return number;
}

function readPart(text: string): Part {
  const [, number, of] = /^(\d{1,3})\/(\d{1,3})$/.exec(text) ?? [];
  const part = { number: Number(number), of: Number(of) };
  if (!(part.number >= 1 && part.number <= part.of))
    throw new Error(`--part is such as 1/2, not "${text}".`);
  return part;
}
