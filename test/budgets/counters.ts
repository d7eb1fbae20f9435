/** Counts what an operation does, by V8's own counters. The counts are exact, and the same on every machine. */
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promiseHooks } from "node:v8";
import { openCallCounter } from "./function-calls.ts";
import type { Operation } from "./operations.ts";

export type Counts = {
  /** Calls of functions in `lambdas` and `contracts`. */
  calls: number;
  /** Calls of functions in packages. */
  libraryCalls: number;
  /** Calls of zod's `parse` and `safeParse`. */
  schemaParses: number;
  /** Texts that are read as Markdown. */
  markdownParses: number;
  /** Calls of `JSON.parse` and `JSON.stringify`. */
  jsonCalls: number;
  /** New promises. */
  promises: number;
  /** Allocated bytes, in KB of 1,000 bytes: the median of some runs. */
  kilobytes: number;
};

/** The first runs compile functions and schemas and fill caches. */
const warmUps = 60;
const runs = 20;
const allocationRuns = 20;
const allocationSamples = 5;

const root = pathToFileURL(join(dirname(import.meta.filename), "../..")).href;
const own = new RegExp(`^${root}/(?:lambdas|contracts)/`);
const schemaParsing = /\/zod\/v4\/core\/parse\.js$/;
const markdownParsing = "readMarkdown";

/** Counts one run of each operation: the mean of some runs. The process must run with `--expose-gc`. */
export async function countOperations(
  operations: Record<string, Operation>,
): Promise<Record<string, Counts>> {
  const counts: Record<string, Counts> = {};
  for (const [name, operation] of Object.entries(operations)) {
    await repeat(operation, warmUps);
    const kilobytes = await countKilobytes(operation);
    const promises = await countPromises(operation);
    const jsonCalls = await countJsonCalls(operation);
    counts[name] = { ...(await countCalls(operation)), jsonCalls, promises, kilobytes };
  }
  return counts;
}

async function repeat(operation: Operation, times: number): Promise<void> {
  for (let run = 0; run < times; run += 1) await operation();
}

function mean(sum: number): number {
  return Math.round((sum / runs) * 10) / 10;
}

async function countCalls(operation: Operation) {
  const counter = await openCallCounter();
  await counter.count(operation);
  const functions = await counter.count(() => repeat(operation, runs));
  await counter.close();
  const sums = { calls: 0, libraryCalls: 0, schemaParses: 0, markdownParses: 0 };
  for (const { url, name, calls } of functions) {
    const isLibrary = url.includes("/node_modules/");
    if (!isLibrary && !own.test(url)) continue;
    if (isLibrary) sums.libraryCalls += calls;
    else sums.calls += calls;
    if (schemaParsing.test(url)) sums.schemaParses += calls;
    if (name === markdownParsing) sums.markdownParses += calls;
  }
  return {
    calls: mean(sums.calls),
    libraryCalls: mean(sums.libraryCalls),
    schemaParses: mean(sums.schemaParses),
    markdownParses: mean(sums.markdownParses),
  };
}

async function countPromises(operation: Operation): Promise<number> {
  // A turn of its own, so that nothing of the run before is still going on.
  await new Promise((resolve) => setImmediate(resolve));
  let count = 0;
  const stop = promiseHooks.createHook({
    init: () => {
      count += 1;
    },
  });
  await repeat(operation, runs);
  stop();
  // `repeat` makes fewer promises than there are runs.
  return Math.floor(count / runs);
}

async function countJsonCalls(operation: Operation): Promise<number> {
  const { parse, stringify } = JSON;
  let count = 0;
  JSON.parse = (...given) => {
    count += 1;
    return parse(...given);
  };
  JSON.stringify = (...given: unknown[]) => {
    count += 1;
    return (stringify as (...given: unknown[]) => string)(...given);
  };
  try {
    await repeat(operation, runs);
  } finally {
    Object.assign(JSON, { parse, stringify });
  }
  return mean(count);
}

async function countKilobytes(operation: Operation): Promise<number> {
  const samples: number[] = [];
  for (let sample = 0; sample < allocationSamples; sample += 1) {
    globalThis.gc?.();
    const startBytes = process.memoryUsage().heapUsed;
    await repeat(operation, allocationRuns);
    samples.push((process.memoryUsage().heapUsed - startBytes) / allocationRuns / 1000);
  }
  const [median = 0] = samples.sort((one, other) => one - other).slice(samples.length / 2);
  return Math.round(median * 10) / 10;
}
