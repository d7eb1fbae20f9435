/** Shared by benches over sockets: a server in a process of its own, and the times of a client's answers. */
import { fork } from "node:child_process";
import { join } from "node:path";

export type Caller = { call: () => Promise<unknown>; close: () => Promise<void> };

export const connections = 64;
const rounds = 6;
const callsAlone = 500;
const callsTogether = 3000;

/** The best throughput of all rounds, in calls per second, and the median of all calls that were alone, in milliseconds. */
export type Measured = { perSecond: number; p50Ms: number };

/** Both sides take turns, so that both meet the same machine, and are warm, as in a process that has been up for a while. */
export async function measureBoth(callers: { ours: Caller; baseline: Caller }): Promise<{
  ours: Measured;
  baseline: Measured;
}> {
  const sides = [callers.baseline, callers.ours].map((caller) => ({ caller, times: [] as number[], perSecond: 0 }));
  for (const { caller } of sides) await throughput(caller);
  for (let round = 0; round < rounds; round += 1) {
    for (const side of sides) side.times.push(...(await timesAlone(side.caller)));
    for (const side of sides) side.perSecond = Math.max(side.perSecond, await throughput(side.caller));
  }
  const [baseline, ours] = sides.map(({ times, perSecond }) => ({ perSecond, p50Ms: median(times) }));
  if (baseline === undefined || ours === undefined) throw new Error("there are two sides");
  return { ours, baseline };
}

/** `file` is in this directory and tells its URL to the parent when it listens. */
export async function startServer({
  file,
  words,
}: {
  file: string;
  words: string[];
}): Promise<{ url: string; stop: () => Promise<void> }> {
  const child = fork(join(import.meta.dirname, file), words);
  const started = Promise.withResolvers<string>();
  const ended = Promise.withResolvers<void>();
  child.once("message", (url) => started.resolve(String(url)));
  child.once("exit", () => {
    started.reject(new Error("the server of the bench did not start"));
    ended.resolve();
  });
  const url = await started.promise;
  const stop = async () => {
    child.kill();
    await ended.promise;
  };
  return { url, stop };
}

async function timesAlone({ call }: Caller): Promise<number[]> {
  const times: number[] = [];
  for (let count = 0; count < callsAlone; count += 1) {
    const startMs = performance.now();
    await call();
    times.push(performance.now() - startMs);
  }
  return times;
}

async function throughput({ call }: Caller): Promise<number> {
  let left = callsTogether;
  const startMs = performance.now();
  const worker = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return (callsTogether / (performance.now() - startMs)) * 1000;
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
