/** Bench of a call over loopback: runner, https transport and host, beside a bare undici client and a bare echo. */
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "undici";
import { silentLog } from "../../lambdas/shared/log.ts";
import { newTrace } from "../../lambdas/shared/trace.ts";
import { noAuthorizer } from "../../lambdas/verification/transport/authorizer/none.ts";
import { createHttpsTransport } from "../../lambdas/verification/transport/https/transport.ts";
import { createClient } from "../../lambdas/verification/transport/runner.ts";
import type { BenchRow } from "./bench-row.ts";

const rounds = 6;
const callsAlone = 500;
const callsTogether = 3000;
const connections = 64;
const params = { channel: "C012AB3CD", team_id: "T012AB3CD", user_id: "U012AB3CD", text: "What is a sekisho?" };

type Caller = { call: () => Promise<unknown>; close: () => Promise<void> };

/** Both sides take turns, so that both meet the same machine; every server is a process of its own. */
export async function benchTransport(): Promise<BenchRow[]> {
  const directory = await mkdtemp(join(tmpdir(), "sekisho-bench-"));
  try {
    const rows: BenchRow[] = [];
    for (const store of ["memory", "sqlite"]) {
      rows.push(...(await compare({ store, file: join(directory, "execution.db") })));
    }
    return rows;
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function compare({ store, file }: { store: string; file: string }): Promise<BenchRow[]> {
  const [echo, host] = [await startServer(["echo"]), await startServer([store, file])];
  const [bare, ours] = [bareCaller(echo.url), ourCaller(host.url)];
  try {
    const alone = { bare: [] as number[], ours: [] as number[] };
    let [perSecond, barePerSecond] = [0, 0];
    for (let round = 0; round < rounds; round += 1) {
      alone.bare.push(...(await timesAlone(bare)));
      alone.ours.push(...(await timesAlone(ours)));
      barePerSecond = Math.max(barePerSecond, await throughput(bare));
      perSecond = Math.max(perSecond, await throughput(ours));
    }
    const [p50, bareP50] = [median(alone.ours), median(alone.bare)];
    const note = "runner, https transport and host; beside undici and an echo";
    return [
      {
        name: `one call at a time, p50, ${store} store`,
        ours: p50,
        baseline: bareP50,
        unit: "ms",
        ratio: p50 / bareP50,
        note,
      },
      {
        name: `${connections} at a time, ${store} store`,
        ours: perSecond,
        baseline: barePerSecond,
        unit: "calls/s",
        ratio: perSecond / barePerSecond,
        note,
      },
    ];
  } finally {
    await Promise.all([bare.close(), ours.close()]);
    await Promise.all([echo.stop(), host.stop()]);
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

function ourCaller(url: string): Caller {
  const client = createClient({
    transport: createHttpsTransport({ url, authorizer: noAuthorizer }),
    destination: { name: "bench", dialect: "zone", idempotent: true, callTimeoutMs: 30_000 },
    log: silentLog,
  });
  const sessionId = "bench".repeat(8);
  const trace = newTrace();
  return {
    call: () => client.call({ method: "execute_task", params, id: randomUUID(), sessionId, timeoutMs: 30_000, trace }),
    close: () => client.close(),
  };
}

/** The same request and headers of the same length; the answer is read and parsed, and nothing else is done. */
function bareCaller(url: string): Caller {
  const pool = new Pool(url, { connections });
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    traceparent: newTrace().traceparent,
  };
  return {
    async call() {
      const body = JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method: "execute_task", params });
      const response = await pool.request({ method: "POST", path: "/", headers, body });
      return response.body.json();
    },
    close: () => pool.close(),
  };
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
