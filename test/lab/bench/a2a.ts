/** Bench of a blocking SendMessage over loopback: our host beside the official SDK's own server, which does the same. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "undici";
import { type BenchRun, hasPeer } from "./bench.ts";
import { type Caller, connections, measureSides } from "./measure.ts";
import type { BenchTable } from "./table.ts";

const goals = { p50: { atMost: 0.8, aim: 0.7 }, perSecond: { atLeast: 1.3, aim: 1.8 } };

/** Each beside the official SDK's server in express, whose tasks are in memory. The bare server shows what any can reach at most. */
const cases = [
  { kind: "memory", name: "our host", goals },
  { kind: "sqlite", name: "the same, tasks in sqlite" },
  { kind: "bare", name: "`node:http` alone, the same bytes each time" },
];

export async function benchA2a(run: BenchRun): Promise<BenchTable[]> {
  if (!hasPeer({ run, name: "@a2a-js/sdk/server" }) || !hasPeer({ run, name: "express" }))
    return [];
  const directory = await mkdtemp(join(tmpdir(), "sekisho-bench-"));
  const side = (kind: string) => ({
    file: "a2a-server.ts",
    words: [kind, join(directory, `${kind}.db`)],
    caller: sender,
  });
  try {
    const table = await measureSides({
      run,
      name: "a2a",
      baseline: { name: "the SDK's server", ...side("sdk") },
      cases: cases.map(({ kind, ...each }) => ({ ...each, ...side(kind) })),
    });
    return [table];
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Every message begins a task, and its answer is read: anything but a task that ended with an artifact is an error. */
function sender({ url }: { url: string }): Caller {
  const pool = new Pool(url, { connections });
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    "a2a-version": "1.0",
  };
  return {
    async call() {
      const message = {
        messageId: randomUUID(),
        role: "ROLE_USER",
        parts: [{ text: "What is a sekisho?" }],
      };
      const body = JSON.stringify({
        jsonrpc: "2.0",
        id: randomUUID(),
        method: "SendMessage",
        params: { message },
      });
      const response = await pool.request({ method: "POST", path: "/a2a", headers, body });
      const { result } = (await response.body.json()) as Answer;
      if (result?.task?.artifacts?.[0]?.parts[0]?.text !== "done")
        throw new Error("this is not the answer");
    },
    close: () => pool.close(),
  };
}

type Answer = { result?: { task?: { artifacts?: { parts: { text?: string }[] }[] } } };
