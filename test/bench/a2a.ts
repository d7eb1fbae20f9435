/** Bench of a blocking SendMessage over loopback: our host beside the official SDK's own server, which does the same. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "undici";
import type { BenchRow } from "./bench-row.ts";
import { type Caller, connections, measureBoth, startServer } from "./measure.ts";

const stores = [
  { kind: "memory", note: "the SDK's express server with its memory store" },
  { kind: "sqlite", note: "the same, its tasks still in memory" },
] as const;

export async function benchA2a(): Promise<BenchRow[]> {
  const directory = await mkdtemp(join(tmpdir(), "sekisho-bench-"));
  try {
    const rows: BenchRow[] = [];
    for (const { kind, note } of stores) rows.push(...(await compare({ kind, note, directory })));
    return rows;
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function compare({ kind, note, directory }: { kind: string; note: string; directory: string }) {
  const start = (words: string[]) => startServer({ file: "a2a-server.ts", words });
  const [sdk, host] = [await start(["sdk"]), await start([kind, join(directory, `${kind}.db`)])];
  const callers = { baseline: sender(sdk), ours: sender(host) };
  try {
    const { ours, baseline } = await measureBoth(callers);
    const p50: BenchRow = {
      name: `one at a time, p50, ${kind} store`,
      ours: ours.p50Ms,
      baseline: baseline.p50Ms,
      unit: "ms",
      ratio: ours.p50Ms / baseline.p50Ms,
      note,
    };
    const together: BenchRow = {
      name: `${connections} at a time, ${kind} store`,
      ours: ours.perSecond,
      baseline: baseline.perSecond,
      unit: "calls/s",
      ratio: ours.perSecond / baseline.perSecond,
      note,
    };
    return [p50, together];
  } finally {
    await Promise.all([callers.baseline.close(), callers.ours.close()]);
    await Promise.all([sdk.stop(), host.stop()]);
  }
}

/** Every message begins a task, and its answer is read: anything but a task that ended with an artifact is an error. */
function sender({ url }: { url: string }): Caller {
  const pool = new Pool(url, { connections });
  const headers = { "content-type": "application/json", accept: "application/json", "a2a-version": "1.0" };
  return {
    async call() {
      const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "What is a sekisho?" }] };
      const body = JSON.stringify({ jsonrpc: "2.0", id: randomUUID(), method: "SendMessage", params: { message } });
      const response = await pool.request({ method: "POST", path: "/a2a", headers, body });
      const { result } = (await response.body.json()) as Answer;
      if (result?.task?.artifacts?.[0]?.parts[0]?.text !== "done") throw new Error("this is not the answer");
    },
    close: () => pool.close(),
  };
}

type Answer = { result?: { task?: { artifacts?: { parts: { text?: string }[] }[] } } };
