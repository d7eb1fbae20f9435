/** Bench of a call over loopback: runner, https transport and host, beside a bare undici client and a bare echo. */
import { fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchRow } from "./bench-row.ts";
import { type Caller, nodeHttpCaller, ourCaller, undiciCaller } from "./transport-callers.ts";

const rounds = 6;
const callsAlone = 500;
const callsTogether = 3000;
const connections = 64;
/** Which of our servers is called by which client; the other side of each row is undici and an echo. */
type Case = {
  name: string;
  server: "echo" | "memory" | "sqlite";
  caller: (request: { url: string }) => Caller | Promise<Caller>;
  note: string;
};

const ours = "runner, https transport and host; beside undici and an echo";
const cases: readonly Case[] = [
  {
    name: "node:http alone",
    server: "echo",
    caller: nodeHttpCaller,
    note: "what the transport is made of, to the same echo",
  },
  {
    name: "no task",
    server: "memory",
    caller: ({ url }) => ourCaller({ url, method: "get_task" }),
    note: `get_task, one read of the store: ${ours}`,
  },
  {
    name: "memory store",
    server: "memory",
    caller: ({ url }) => ourCaller({ url, method: "execute_task" }),
    note: ours,
  },
  {
    name: "sqlite store",
    server: "sqlite",
    caller: ({ url }) => ourCaller({ url, method: "execute_task" }),
    note: ours,
  },
];

export async function benchTransport(): Promise<BenchRow[]> {
  const directory = await mkdtemp(join(tmpdir(), "sekisho-bench-"));
  try {
    const rows: BenchRow[] = [];
    for (const each of cases) rows.push(...(await compare({ ...each, file: join(directory, "execution.db") })));
    return rows;
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Both sides take turns, so that both meet the same machine; every server is a process of its own. */
async function compare({ name, server, caller, note, file }: Case & { file: string }): Promise<BenchRow[]> {
  const [echo, peer] = [await startServer(["echo"]), await startServer([server, file])];
  const [bare, ours] = [undiciCaller({ url: echo.url, connections }), await caller({ url: peer.url })];
  try {
    const alone = { bare: [] as number[], ours: [] as number[] };
    let [perSecond, barePerSecond] = [0, 0];
    // Both are measured warm, as in a process that has been up for a while.
    await throughput(bare);
    await throughput(ours);
    for (let round = 0; round < rounds; round += 1) {
      alone.bare.push(...(await timesAlone(bare)));
      alone.ours.push(...(await timesAlone(ours)));
      barePerSecond = Math.max(barePerSecond, await throughput(bare));
      perSecond = Math.max(perSecond, await throughput(ours));
    }
    const [p50, bareP50] = [median(alone.ours), median(alone.bare)];
    const ratio = perSecond / barePerSecond;
    return [
      { name: `one at a time, p50, ${name}`, ours: p50, baseline: bareP50, unit: "ms", ratio: p50 / bareP50, note },
      {
        name: `${connections} at a time, ${name}`,
        ours: perSecond,
        baseline: barePerSecond,
        unit: "calls/s",
        ratio,
        note,
      },
    ];
  } finally {
    await Promise.all([bare.close(), ours.close()]);
    await Promise.all([echo.stop(), peer.stop()]);
  }
}

async function startServer(words: string[]): Promise<{ url: string; stop: () => Promise<void> }> {
  const child = fork(join(import.meta.dirname, "transport-server.ts"), words);
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
