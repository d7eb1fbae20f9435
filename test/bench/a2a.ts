/** Bench of a blocking SendMessage over loopback: our host beside the official SDK's own server, which does the same. */
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "undici";
import type { BenchRow } from "./bench-row.ts";
import { type Caller, connections, measureSides } from "./measure.ts";

/** Each beside the official SDK's server in express, whose tasks are in memory. */
const cases = [
  {
    kind: "bare",
    name: "node:http alone",
    note: "no task, the same bytes each time: what any server can reach at most",
  },
  { kind: "memory", name: "memory store", note: "our host" },
  { kind: "sqlite", name: "sqlite store", note: "our host, each task on disk" },
];

export async function benchA2a(): Promise<BenchRow[]> {
  const directory = await mkdtemp(join(tmpdir(), "sekisho-bench-"));
  const side = (kind: string) => ({
    file: "a2a-server.ts",
    words: [kind, join(directory, `${kind}.db`)],
    caller: sender,
  });
  try {
    return await measureSides({
      baseline: side("sdk"),
      cases: cases.map(({ kind, name, note }) => ({ name, note, ...side(kind) })),
    });
  } finally {
    await rm(directory, { recursive: true });
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
