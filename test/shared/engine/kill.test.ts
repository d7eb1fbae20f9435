/** Processes that race on one sqlite file and are killed with SIGKILL: what they acknowledged is there, and nothing twice. */

import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createSqliteQueue, createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import type { SampleItem } from "../../conformance/task-store-case.ts";
import { createSqliteFile, type SqliteFile } from "./sqlite-file.ts";

const lines = 3;
const killsPerLine = 3;
const kills = lines * killsPerLine;

let sqlite: SqliteFile;
beforeEach(() => {
  sqlite = createSqliteFile();
});
afterEach(() => sqlite.remove());

describe("processes killed at any moment while they race on one file", () => {
  it("lose nothing that was acknowledged, and do nothing twice", async () => {
    // Each line of processes is one after the other; the first ones also race to create the file.
    const acknowledged = (
      await Promise.all(Array.from({ length: lines }, (_, line) => runLine({ file: sqlite.file, line })))
    ).flat();
    const all = (what: string) =>
      acknowledged.flatMap((text) => (text.startsWith(`${what} `) ? [text.slice(what.length + 1)] : []));

    const database = sqlite.open();
    expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });

    const store = createSqliteTaskStore({ database, parse: (json) => json as SampleItem });
    const kept = (await store.list({ index: "state", key: "new", limit: 1_000_000 })).items.map(({ id }) => id);
    expect(missing(all("made"), kept)).toEqual([]);

    const counted = all("counted").map(Number);
    const counter = await store.get({ id: "counter" });
    expect(repeated(counted)).toEqual([]);
    // A process that is killed may have done one thing more than it could say.
    expect(counter?.count).toBeGreaterThanOrEqual(Math.max(...counted));
    expect(counter?.count).toBeLessThanOrEqual(counted.length + kills);
    expect(counter?.revision).toBe((counter?.count ?? 0) + 1);

    const finished = all("finished");
    const left = await leftBodies(sqlite);
    expect(repeated(all("got"))).toEqual([]);
    expect(repeated(finished)).toEqual([]);
    expect(left.filter((body) => finished.includes(body))).toEqual([]);
    const finishedUnsaid = missing(all("sent"), [...finished, ...left]);
    expect(missing(finishedUnsaid, all("got"))).toEqual([]);
    expect(finishedUnsaid.length).toBeLessThanOrEqual(kills);
    for (const what of ["made", "counted", "sent", "got", "finished"]) expect(all(what).length).toBeGreaterThan(0);
  });
});

async function runLine({ file, line }: { file: string; line: number }): Promise<string[]> {
  const acknowledged: string[] = [];
  for (let number = 0; number < killsPerLine; number += 1) {
    const name = `${line}.${number}`;
    acknowledged.push(...(await runAndKill({ file, name, afterLines: 50 + 37 * ((line + 2 * number) % 5) })));
  }
  return acknowledged;
}

/** All lines that the process wrote until it was killed, which happens when that many have been read. */
async function runAndKill({
  file,
  name,
  afterLines,
}: {
  file: string;
  name: string;
  afterLines: number;
}): Promise<string[]> {
  const worker = join(import.meta.dirname, "kill-worker.ts");
  const child = spawn(process.execPath, [worker, file, name], { stdio: ["ignore", "pipe", "inherit"] });
  const died = new Promise<NodeJS.Signals | null>((resolve) => child.once("exit", (_code, signal) => resolve(signal)));
  const acknowledged: string[] = [];
  try {
    for await (const text of createInterface({ input: child.stdout })) {
      acknowledged.push(text);
      if (acknowledged.length === afterLines) child.kill("SIGKILL");
    }
  } finally {
    child.kill("SIGKILL");
  }
  expect(await died).toBe("SIGKILL");
  return acknowledged;
}

/** Every message that is in the queue, hidden or not: an hour and a bit later none is hidden any more. */
async function leftBodies({ open }: SqliteFile): Promise<string[]> {
  const now = () => Date.now() + 4000_000;
  const queue = createSqliteQueue({ database: open(), name: "tasks", now });
  const messages = await queue.receive({ max: 1_000_000, visibilityTimeoutMs: 60_000, waitMs: 0 });
  return messages.map(({ body }) => body);
}

function repeated<T>(values: readonly T[]): T[] {
  return values.filter((value, index) => values.indexOf(value) !== index);
}

function missing<T>(wanted: readonly T[], there: readonly T[]): T[] {
  const set = new Set(there);
  return wanted.filter((value) => !set.has(value));
}
