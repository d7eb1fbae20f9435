/** Bench of the sqlite engine: durable tasks through the task store, beside the bare statements on the same tables. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TaskItem, TaskStore } from "../../lambdas/shared/engine/ports.ts";
import { openDatabase } from "../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "../../lambdas/shared/engine/sqlite/engine.ts";
import type { BenchRow } from "./bench-row.ts";

type Item = TaskItem & { text: string };
/** Runs that many tasks, each an insert and two transitions. */
type RunTasks = (count: number) => Promise<void>;

const underWay = 64;
const rounds = 5;
const text = "x".repeat(800);
const expiresAtMs = Date.now() + 30 * 24 * 3600_000;
let lastId = 0;

/** Tasks per second, the best of some rounds that take turns, so that both meet the same disk. */
export async function benchEngine(): Promise<BenchRow[]> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-bench-"));
  const file = join(folder, "zone.db");
  const database = openDatabase({ file });
  const bare = new DatabaseSync(file, { timeout: 5000 });
  bare.exec("PRAGMA synchronous = FULL");
  try {
    const store = createSqliteTaskStore({ database, parse: (json) => json as Item });
    const note = "insert and two transitions, synchronous=FULL; bare:";
    return [
      await row({
        name: "sqlite engine, one by one",
        ours: storeTasks(store, 1),
        baseline: bareTasks(bare, 1),
        count: 200,
        note: `${note} a transaction for each statement`,
      }),
      await row({
        name: `sqlite engine, ${underWay} under way`,
        ours: storeTasks(store, underWay),
        baseline: bareTasks(bare, underWay),
        count: 40 * underWay,
        note: `${note} ${underWay} statements to a transaction`,
      }),
    ];
  } finally {
    bare.close();
    await database.close();
    rmSync(folder, { recursive: true });
  }
}

async function row({
  name,
  ours,
  baseline,
  count,
  note,
}: {
  name: string;
  ours: RunTasks;
  baseline: RunTasks;
  count: number;
  note: string;
}): Promise<BenchRow> {
  const best = { ours: 0, baseline: 0 };
  for (let round = 0; round < rounds; round += 1) {
    best.baseline = Math.max(best.baseline, await perSecond(baseline, count));
    best.ours = Math.max(best.ours, await perSecond(ours, count));
  }
  return { name, ...best, unit: "tasks/s", ratio: best.ours / best.baseline, note };
}

async function perSecond(runTasks: RunTasks, count: number): Promise<number> {
  const startMs = performance.now();
  await runTasks(count);
  return (count / (performance.now() - startMs)) * 1000;
}

function newItem(): Item {
  lastId += 1;
  const index = { state: "received", thread: `C0/${lastId % 100}`, principal: `T0/U${lastId % 10}` };
  return { id: `task ${lastId}`, revision: 1, ...index, expiresAtMs, text };
}

/** `concurrency` callers, each with one task at a time. */
function storeTasks(store: TaskStore<Item>, concurrency: number): RunTasks {
  async function runTask(): Promise<void> {
    let item = await store.create({ item: newItem() });
    for (const state of ["sent", "done"]) item = item && (await store.replace({ item: { ...item, state } }));
    if (item?.revision !== 3) throw new Error("the store lost a task");
  }
  async function caller(count: number): Promise<void> {
    for (let done = 0; done < count; done += 1) await runTask();
  }
  return async (count) => {
    await Promise.all(Array.from({ length: concurrency }, () => caller(count / concurrency)));
  };
}

/** The same rows by hand: `size` statements to a transaction. */
function bareTasks(bare: DatabaseSync, size: number): RunTasks {
  const insert = bare.prepare(
    "INSERT INTO tasks (id, revision, state, thread, principal, expires_at_ms, item) VALUES (?, 1, ?, ?, ?, ?, ?)",
  );
  const update = bare.prepare(
    "UPDATE tasks SET revision = revision + 1, state = ?, item = ? WHERE id = ? AND revision = ?",
  );
  const [begin, commit] = [bare.prepare("BEGIN IMMEDIATE"), bare.prepare("COMMIT")];
  function inTransaction(items: readonly Item[], act: (item: Item) => void): void {
    begin.run();
    items.forEach(act);
    commit.run();
  }
  return async (count) => {
    for (let done = 0; done < count; done += size) {
      const items = Array.from({ length: size }, newItem);
      inTransaction(items, ({ id, state, thread = "", principal = "", ...item }) => {
        insert.run(
          id,
          state,
          thread,
          principal,
          expiresAtMs,
          JSON.stringify({ id, state, thread, principal, ...item }),
        );
      });
      for (const [index, state] of ["sent", "done"].entries()) {
        inTransaction(items, (item) => {
          update.run(state, JSON.stringify({ ...item, state, revision: index + 2 }), item.id, index + 1);
        });
      }
    }
  };
}
