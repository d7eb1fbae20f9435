/**
 * Counts what each pass over a text does. Counts are the same on every machine, however busy, where times are not. A pass is a function of
 * the sources (V8 counts how often each of its blocks runs), a regular expression, or a built-in function that scans. A regular expression
 * counts the characters that it goes over between two matches. What it goes back over within one attempt has no count: `npm run regexps`
 * proves that this does not grow with the text.
 */
import { type Profiler, Session } from "node:inspector";

/** The steps by pass. */
export type Steps = ReadonlyMap<string, number>;

export type StepCounter = { count(run: () => unknown): Steps; close(): void };

/** `isSource` selects the scripts whose functions count, by their URL. */
export function createStepCounter({
  isSource,
}: {
  isSource: (url: string) => boolean;
}): StepCounter {
  const session = new Session();
  session.connect();
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

  /** The counters begin again with each call. */
  function takeCoverage(): Profiler.ScriptCoverage[] {
    let scripts: Profiler.ScriptCoverage[] = [];
    // The answer comes before the call returns, because the session is on this thread.
    session.post("Profiler.takePreciseCoverage", (_error, { result }) => {
      scripts = result;
    });
    return scripts;
  }

  return {
    count(run) {
      const tallies = new Map<string, Tally>();
      const tallyOf = (pass: string) => {
        const tally = tallies.get(pass) ?? { steps: 0 };
        tallies.set(pass, tally);
        return tally;
      };
      takeCoverage();
      const restore = countBuiltIns(tallyOf);
      try {
        run();
      } finally {
        restore();
      }
      for (const { url, functions } of takeCoverage().filter((script) => isSource(script.url))) {
        for (const { functionName, ranges } of functions) {
          const name = `${functionName || "anonymous"} (${url.split("/").at(-1)}:${ranges[0]?.startOffset})`;
          tallyOf(name).steps += ranges.reduce((sum, { count }) => sum + count, 0);
        }
      }
      return new Map([...tallies].map(([pass, { steps }]) => [pass, steps]));
    },
    close: () => session.disconnect(),
  };
}

type Tally = { steps: number };
/** `self` is a string or a list, and so is a result that has a length. */
type Scan = (self: { length: number }, args: readonly unknown[], result: unknown) => number;

const { exec } = RegExp.prototype;
const { indexOf } = String.prototype;

const toFirst: Scan = (text, [sought, from = 0]) => {
  const at = indexOf.call(String(text), String(sought), Number(from));
  return at < 0 ? text.length - Number(from) : at - Number(from) + 1;
};
const toLast: Scan = (text, [, from = text.length], at) =>
  Math.min(Number(from), text.length) - Number(at);
const whole: Scan = ({ length }) => length;
const stages: Scan = (_self, _args, result) => lengthOf(result);
const moved: Scan = ({ length }, [start = 0]) => Math.max(0, length - Number(start));
const removed: Scan = ({ length }, _args, trimmed) => length - lengthOf(trimmed) + 1;

function lengthOf(value: unknown): number {
  return typeof value === "string" || Array.isArray(value) ? value.length : 0;
}

/** The number of characters or entries that a call of a built-in function goes over. */
const scans: readonly [string, object, Readonly<Record<string, Scan>>][] = [
  [
    "String",
    String.prototype,
    {
      ...{
        indexOf: toFirst,
        includes: toFirst,
        lastIndexOf: toLast,
        split: whole,
        normalize: whole,
        repeat: stages,
      },
      ...{
        trim: removed,
        trimStart: removed,
        trimEnd: removed,
        toLowerCase: whole,
        toUpperCase: whole,
      },
      ...{ toWellFormed: whole, isWellFormed: whole, localeCompare: whole },
    },
  ],
  [
    "Array",
    Array.prototype,
    {
      ...{
        indexOf: whole,
        includes: whole,
        lastIndexOf: whole,
        join: whole,
        unshift: whole,
        splice: moved,
      },
      ...{ concat: stages, slice: stages },
    },
  ],
];

/** Replaces the built-in functions by ones that count. Returns the function that puts them back. */
function countBuiltIns(tallyOf: (pass: string) => Tally): () => void {
  const originals = scans.flatMap(([type, prototype, methods]) =>
    Object.entries(methods).map(([name, scan]) => {
      const original = Reflect.get(prototype, name) as (...args: unknown[]) => unknown;
      const tally = tallyOf(`${type}.${name}`);
      const counting = function (this: { length: number }, ...args: unknown[]) {
        const result = original.apply(this, args);
        tally.steps += scan(this, args, result);
        return result;
      };
      Object.defineProperty(prototype, name, {
        value: counting,
        writable: true,
        configurable: true,
      });
      return { prototype, name, original };
    }),
  );
  const tallies = new WeakMap<RegExp, Tally>();
  // Every other function of regular expressions calls this one.
  RegExp.prototype.exec = function (text) {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const match = exec.call(this, text);
    const end =
      match === null ? (this.sticky ? from : String(text).length) : match.index + match[0].length;
    const tally = tallies.get(this) ?? tallyOf(`/${this.source.slice(0, 80)}/`);
    tallies.set(this, tally);
    tally.steps += Math.max(0, end - from) + 1;
    return match;
  };
  return () => {
    RegExp.prototype.exec = exec;
    for (const { prototype, name, original } of originals) {
      Object.defineProperty(prototype, name, {
        value: original,
        writable: true,
        configurable: true,
      });
    }
  };
}

/** The steps of one pass for a text, for twice the text, and so on. */
export type Growth = { pass: string; steps: number[] };

/**
 * Finds the passes whose steps grow more than `maxGrowth` times at each doubling of the text. One doubling alone may reach a bound at which
 * a text is divided, which costs more once. Passes with fewer than `minSteps` for the longest text do not count.
 */
export function findGrowth(request: {
  doublings: readonly Steps[];
  maxGrowth: number;
  minSteps: number;
}): Growth[] {
  const { doublings, maxGrowth, minSteps } = request;
  const passes = [...(doublings.at(-1) ?? [])].filter(([, steps]) => steps >= minSteps);
  return passes
    .map(([pass]) => ({ pass, steps: doublings.map((steps) => steps.get(pass) ?? 0) }))
    .filter(({ steps }) =>
      steps.every((count, index) => index === 0 || count > maxGrowth * (steps[index - 1] ?? 0)),
    );
}
