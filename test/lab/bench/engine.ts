/** Bench of the sqlite engine: durable tasks through the task store, beside the same rows written with better-sqlite3 and with node:sqlite. */
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { TaskItem, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { type BenchRun, hasPeer, rank, takeTurns } from "./bench.ts";
import { type BenchTable, ratioTable } from "./table.ts";

type Item = TaskItem & { text: string };
/** Runs that many tasks, each an insert and two transitions. */
type RunTasks = (count: number) => Promise<void>;

const underWay = 64;
const rounds = 40;
const countAlone = 100;
const countTogether = 10 * underWay;
const text = "x".repeat(800);
const expiresAtMs = Date.now() + 30 * 24 * 3600_000;
let lastId = 0;

/** Tasks per second, the best decile of short rounds that take turns, so that all meet the same disk. Each has a file of its own. */
export async function benchEngine(run: BenchRun): Promise<BenchTable[]> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-bench-"));
  const files = {
    ours: join(folder, "ours.db"),
    bare: join(folder, "bare.db"),
    peer: join(folder, "peer.db"),
  };
  const openPeer = findPeer(run);
  const closers: { close(): unknown }[] = [];
  const open = <T extends { close(): unknown }>(database: T): T => {
    closers.push(database);
    return database;
  };
  try {
    const store = createSqliteTaskStore({
      database: open(openDatabase({ file: files.ours })),
      parse: (json) => json as Item,
    });
    const bare = open(
      await openBare(files.bare, (file) => new DatabaseSync(file, { timeout: 5000 })),
    );
    const ours = {
      alone: side(storeTasks(store, 1), countAlone),
      together: side(storeTasks(store, underWay)),
    };
    const byHand = {
      alone: side(bareTasks(bare, 1), countAlone),
      together: side(bareTasks(bare, underWay)),
    };
    const peers: { alone: Side; together: Side }[] = [];
    if (openPeer !== undefined) {
      const peer = open(await openBare(files.peer, openPeer));
      // Its calls are synchronous: callers at the same time come one after the other, each statement in its own transaction.
      peers.push({
        alone: side(bareTasks(peer, 1), countAlone),
        together: side(bareTasks(peer, 1)),
      });
    }
    const sides = [ours, byHand, ...peers].flatMap(({ alone, together }) => [alone, together]);
    await takeTurns({ run, usual: rounds, warmUps: 1, turns: sides.map(({ turn }) => turn) });
    const names = ["one by one", `${underWay} at a time`] as const;
    const table = (
      name: string,
      baseline: string,
      beside: { alone: Side; together: Side },
      goals: readonly number[],
    ) =>
      ratioTable({
        name,
        baseline,
        rows: [[ours.alone, beside.alone] as const, [ours.together, beside.together] as const].map(
          (pair, index) => ({
            ...{
              name: names[index] ?? "",
              unit: "tasks/s",
              ours: pair[0].best(),
              baseline: pair[1].best(),
            },
            ...(goals[index] === undefined ? {} : { goal: { atLeast: goals[index] } }),
          }),
        ),
      });
    return [
      ...peers.map((peer) => table("engine", peerName, peer, [1, 1.3])),
      table("engine-by-hand", "by hand", byHand, []),
    ];
  } finally {
    for (const database of closers.reverse()) await database.close();
    rmSync(folder, { recursive: true });
  }
}

type Side = { turn: (isCounted: boolean) => Promise<void>; best(): number };

function side(runTasks: RunTasks, count = countTogether): Side {
  const seen: number[] = [];
  return {
    async turn(isCounted) {
      const startMs = performance.now();
      await runTasks(count);
      if (isCounted) seen.push((count / (performance.now() - startMs)) * 1000);
    },
    best: () => rank(seen, 0.9),
  };
}

function newItem(): Item {
  lastId += 1;
  const index = {
    state: "received",
    thread: `C0/${lastId % 100}`,
    principal: `T0/U${lastId % 10}`,
  };
  return { id: `task ${lastId}`, revision: 1, ...index, expiresAtMs, text };
}

/** `concurrency` callers, each with one task at a time. */
function storeTasks(store: TaskStore<Item>, concurrency: number): RunTasks {
  async function runTask(): Promise<void> {
    let item = await store.create({ item: newItem() });
    for (const state of ["sent", "done"])
      item = item && (await store.replace({ item: { ...item, state } }));
    if (item?.revision !== 3) throw new Error("the store lost a task");
  }
  async function caller(count: number): Promise<void> {
    for (let done = 0; done < count; done += 1) await runTask();
  }
  return async (count) => {
    await Promise.all(Array.from({ length: concurrency }, () => caller(count / concurrency)));
  };
}

/** What node:sqlite and better-sqlite3 have in common. */
type BareDatabase = {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: (string | number)[]): { changes: number | bigint } };
  close(): unknown;
};

/** The engine's tables and its durability. */
async function openBare<T extends BareDatabase>(
  file: string,
  open: (file: string) => T,
): Promise<T> {
  await openDatabase({ file }).close();
  const database = open(file);
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL");
  return database;
}

const peerName = "better-sqlite3";

/** Undefined if it is not installed, or has no binary for this platform. */
function findPeer(run: BenchRun): ((file: string) => BareDatabase) | undefined {
  if (!hasPeer({ run, name: peerName })) return undefined;
  const Database = createRequire(import.meta.url)(peerName) as new (file: string) => BareDatabase;
  try {
    new Database(":memory:").close();
  } catch (error) {
    run.note(
      `${peerName} does not run here, so its rows are left out: ${error instanceof Error ? error.message : error}`,
    );
    return undefined;
  }
  return (file) => new Database(file);
}

/** The same rows by hand: `size` statements to a transaction. A single statement is one by itself. */
function bareTasks(bare: BareDatabase, size: number): RunTasks {
  const insert = bare.prepare(
    "INSERT INTO tasks (id, revision, state, thread, principal, expires_at_ms, item) VALUES (?, 1, ?, ?, ?, ?, ?)",
  );
  const update = bare.prepare(
    "UPDATE tasks SET revision = revision + 1, state = ?, item = ? WHERE id = ? AND revision = ?",
  );
  const [begin, commit] = [bare.prepare("BEGIN IMMEDIATE"), bare.prepare("COMMIT")];
  function inTransaction(items: readonly Item[], act: (item: Item) => void): void {
    if (size > 1) begin.run();
    items.forEach(act);
    if (size > 1) commit.run();
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
          const { changes } = update.run(
            state,
            JSON.stringify({ ...item, state, revision: index + 2 }),
            item.id,
            index + 1,
          );
          if (Number(changes) !== 1) throw new Error("a task was lost");
        });
      }
    }
  };
}
