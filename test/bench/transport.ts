/** Bench of a call over loopback: runner, https transport and host, beside a bare undici client and a bare echo. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BenchRow } from "./bench-row.ts";
import { type Caller, connections, measureBoth, startServer } from "./measure.ts";
import { nodeHttpCaller, ourCaller, undiciCaller } from "./transport-callers.ts";

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

/** Every server is a process of its own. */
async function compare({ name, server, caller, note, file }: Case & { file: string }): Promise<BenchRow[]> {
  const start = (words: string[]) => startServer({ file: "transport-server.ts", words });
  const [echo, peer] = [await start(["echo"]), await start([server, file])];
  const callers = { baseline: undiciCaller({ url: echo.url, connections }), ours: await caller({ url: peer.url }) };
  try {
    const { ours, baseline } = await measureBoth(callers);
    return [
      {
        name: `one at a time, p50, ${name}`,
        ours: ours.p50Ms,
        baseline: baseline.p50Ms,
        unit: "ms",
        ratio: ours.p50Ms / baseline.p50Ms,
        note,
      },
      {
        name: `${connections} at a time, ${name}`,
        ours: ours.perSecond,
        baseline: baseline.perSecond,
        unit: "calls/s",
        ratio: ours.perSecond / baseline.perSecond,
        note,
      },
    ];
  } finally {
    await Promise.all([callers.baseline.close(), callers.ours.close()]);
    await Promise.all([echo.stop(), peer.stop()]);
  }
}
