/** The yardstick of a load run: how many tasks a second the sqlite engine could do if there were nothing else to do. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TaskItem } from "../../lambdas/shared/engine/ports.ts";
import { openSqliteEngine } from "../../lib/local/engine.ts";

const underWay = 64;
const tasksEach = 8;
const rounds = 3;

/** Operations of one task; a message is sent, received and finished. */
export type OperationsPerTask = { gets: number; replaces: number; messages: number };

/** The best of some rounds, in one process, with as many tasks under way as a worker has slots. */
export async function engineTasksPerSecond({ gets, replaces, messages }: OperationsPerTask): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-load-"));
  const engine = openSqliteEngine({ file: join(folder, "zone.db") });
  const store = engine.taskStore({ parse: (json) => json as TaskItem & { text: string } });
  const { queue } = engine.taskQueue({ maxReceiveCount: 5 });
  const text = "x".repeat(800);
  const body = JSON.stringify({ type: "wake", requestId: "0".repeat(36), seq: 1 });
  let lastId = 0;

  async function task(): Promise<void> {
    lastId += 1;
    const id = `task ${lastId}`;
    const expiresAtMs = Date.now() + 3600_000;
    let item = await store.create({ item: { id, revision: 1, state: "received", expiresAtMs, text } });
    for (let done = 0; done < replaces; done++) item = item && (await store.replace({ item }));
    for (let done = 0; done < gets; done++) await store.get({ id });
    for (let done = 0; done < messages; done++) {
      await queue.send({ body });
      const [message] = await queue.receive({ max: 1, visibilityTimeoutMs: 60_000, waitMs: 10_000 });
      if (message === undefined || !(await queue.finish(message))) throw new Error("the queue lost a message");
    }
    if (item === undefined) throw new Error("the store lost a task");
  }
  async function slot(): Promise<void> {
    for (let done = 0; done < tasksEach; done++) await task();
  }

  try {
    let best = 0;
    for (let round = 0; round < rounds; round++) {
      const startMs = performance.now();
      await Promise.all(Array.from({ length: underWay }, slot));
      best = Math.max(best, (underWay * tasksEach) / ((performance.now() - startMs) / 1000));
    }
    return best;
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
