/** Shared by benches over sockets: servers in processes of their own, and clients that take turns. */
import { fork } from "node:child_process";
import { join } from "node:path";
import type { BenchRow } from "./bench-row.ts";

export type Caller = { call: () => Promise<unknown>; close: () => Promise<void> };

/** A server, whose file is in this directory and calls `serveParent`, and the client that calls it. */
export type Side = { file: string; words: string[]; caller: (server: { url: string }) => Caller | Promise<Caller> };

export const connections = 64;
const rounds = 23;
const callsAlone = 100;
const callsTogether = 1000;
const callsToWarmUp = 6000;

/** The best decile of the rounds' values. */
type Measured = {
  /** The median of calls that are alone, in milliseconds. */
  p50Ms: number;
  /** Calls per second with `connections` of them under way. */
  perSecond: number;
  /** The processor time of the server for each of those calls, in microseconds. */
  serverUs: number;
};

/** All sides are measured in one run, in short turns of random order, so that they meet the same machine. */
export async function measureSides(sides: {
  baseline: Side;
  cases: readonly (Side & { name: string; note: string })[];
}): Promise<BenchRow[]> {
  const opened: Opened[] = [];
  const open = async (side: Side) => {
    const one = await openSide(side);
    opened.push(one);
    return one;
  };
  try {
    const baseline = await open(sides.baseline);
    const cases: { name: string; note: string; side: Opened }[] = [];
    for (const { name, note, ...side } of sides.cases) cases.push({ name, note, side: await open(side) });
    for (const { caller } of opened) await callTogether({ caller, calls: callsToWarmUp });
    const turns = opened.flatMap(toTurns);
    for (let round = 0; round < rounds; round += 1) for (const turn of shuffled(turns)) await turn();
    return cases.flatMap(({ name, note, side }) => toRows({ name, note, ours: best(side), baseline: best(baseline) }));
  } finally {
    for (const { close } of opened) await close();
  }
}

type Opened = Awaited<ReturnType<typeof openSide>>;

async function openSide({ file, words, caller: createCaller }: Side) {
  const server = await startServer({ file, words });
  const caller = await createCaller(server);
  const close = () => caller.close().finally(server.stop);
  const seen = { p50Ms: [] as number[], perSecond: [] as number[], serverUs: [] as number[] };
  return { server, caller, close, seen };
}

function toTurns({ server, caller, seen }: Opened): (() => Promise<void>)[] {
  return [
    async () => void seen.p50Ms.push(await medianAlone(caller)),
    async () => {
      const usedUs = await server.processorUs();
      seen.perSecond.push(await callTogether({ caller, calls: callsTogether }));
      seen.serverUs.push(((await server.processorUs()) - usedUs) / callsTogether);
    },
  ];
}

function best({ seen: { p50Ms, perSecond, serverUs } }: Opened): Measured {
  return { p50Ms: rank(p50Ms, 0.1), perSecond: rank(perSecond, 0.9), serverUs: rank(serverUs, 0.1) };
}

function toRows(request: { name: string; note: string; ours: Measured; baseline: Measured }): BenchRow[] {
  const { name, note, ours, baseline } = request;
  const row = (what: string, figure: keyof Measured, unit: string): BenchRow => {
    const ratio = ours[figure] / baseline[figure];
    return { name: `${what}, ${name}`, ours: ours[figure], baseline: baseline[figure], unit, ratio, note };
  };
  return [
    row("one at a time, p50", "p50Ms", "ms"),
    row(`${connections} at a time`, "perSecond", "calls/s"),
    row("the server's processor time for one of those", "serverUs", "us"),
  ];
}

/** Starts a file of this directory as a process. */
export async function startServer({ file, words }: { file: string; words: string[] }) {
  const child = fork(join(import.meta.dirname, file), words);
  const ended = Promise.withResolvers<void>();
  child.once("exit", () => ended.resolve());
  function message(): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    child.once("message", resolve);
    void ended.promise.then(() => reject(new Error("The bench's server ended.")));
    return promise;
  }
  return {
    url: String(await message()),
    /** How much it has used so far. */
    async processorUs(): Promise<number> {
      child.send("processor time");
      return Number(await message());
    },
    async stop(): Promise<void> {
      child.kill();
      await ended.promise;
    },
  };
}

/** Runs in the server's process: tells the parent the URL, and its processor time when the parent asks. */
export async function serveParent(start: () => Promise<string>): Promise<void> {
  // A parent that fails leaves no server behind.
  process.once("disconnect", () => process.exit());
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.(user + system);
  });
  process.send?.(await start());
}

async function medianAlone({ call }: Caller): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < callsAlone; count += 1) {
    const startMs = performance.now();
    await call();
    times.push(performance.now() - startMs);
  }
  return rank(times, 0.5);
}

/** Calls per second. */
async function callTogether({ caller, calls }: { caller: Caller; calls: number }): Promise<number> {
  let left = calls;
  const startMs = performance.now();
  const worker = async () => {
    while (left-- > 0) await caller.call();
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return (calls / (performance.now() - startMs)) * 1000;
}

function rank(values: readonly number[], share: number): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}

function shuffled<T>(values: readonly T[]): T[] {
  const numbered = values.map((value) => ({ value, order: Math.random() }));
  return numbered.sort((a, b) => a.order - b.order).map(({ value }) => value);
}
