/** A local run's file with tasks in it, what its worker would find in the queue, and the operators' page over it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Admission } from "@sekisho/local/web/admission.ts";
import { createDoor } from "@sekisho/local/web/door.ts";
import { openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { type Log, silentLog } from "@sekisho/runtime/log.ts";
import { openLocalSource } from "@sekisho/sekisho/operate/open-source.ts";
import { createOperatorsPage } from "@sekisho/sekisho/operate/operators-page.ts";
import { startOperateServer } from "@sekisho/sekisho/operate/server.ts";
import { createTombstone } from "@sekisho/sekisho/tasks/stored-task.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import { askedAtMs, sampleTask } from "../../verification/task/sample.ts";

export function requestIdOf(number: number): string {
  return `00000000-0000-5000-8000-${String(number).padStart(12, "0")}`;
}

export function openTasksInFile() {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-operate-"));
  const file = join(folder, ".sekisho", "verification.db");
  const engine = openSqliteEngine({ file });
  const store = engine.taskStore({ parse: (json) => taskSchema.parse(json) });
  const { queue } = engine.taskQueue({ maxReceiveCount: 5 });
  return {
    folder,
    file,
    async add(number: number, changes: Partial<Task> = {}): Promise<Task> {
      const receivedAtMs = askedAtMs + number;
      const expiresAtMs = Date.now() + 3600_000;
      const item = sampleTask({ id: requestIdOf(number), receivedAtMs, expiresAtMs, ...changes });
      const created = await store.create({ item });
      if (created === undefined) throw new Error("It is there already.");
      return created;
    },
    async change(number: number, changes: Partial<Task>): Promise<void> {
      const task = await store.get({ id: requestIdOf(number) });
      if (task === undefined) throw new Error("It is not there.");
      await store.replace({ item: { ...task, ...changes } });
    },
    /** As `sekisho data delete` does it. */
    async erase(number: number, { leavesNothing = false } = {}): Promise<void> {
      const task = await store.get({ id: requestIdOf(number) });
      if (task === undefined) throw new Error("It is not there.");
      const nowMs = leavesNothing ? Number.MAX_SAFE_INTEGER : task.receivedAtMs;
      const left = createTombstone({ task, nowMs }) ?? { ...task, expiresAtMs: 1 };
      await store.replace({
        item: leavesNothing ? left : { ...left, expiresAtMs: task.expiresAtMs },
      });
    },
    async queued(): Promise<
      { type: string; requestId: string; retryOf?: string; message?: { text: string } }[]
    > {
      const messages = await queue.receive({ max: 10, visibilityTimeoutMs: 60_000, waitMs: 0 });
      return messages.map(({ body }) => JSON.parse(body));
    },
    async close() {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Slack did not take the answer. */
export const undelivered: Partial<Task> = {
  state: "done",
  delivery: { status: "given_up" },
  cleanupDone: true,
  outcome: { type: "answer", text: "a secret answer" },
  history: [
    { atMs: askedAtMs, event: "asked", state: "received" },
    { atMs: askedAtMs + 60_000, event: "slack_failed", state: "done" },
  ],
};

export async function servePage({
  folder,
  admission,
  hostname = "127.0.0.1",
  log = silentLog,
}: {
  folder: string;
  admission?: Admission;
  hostname?: string;
  log?: Log;
}) {
  const door = createDoor();
  const stop = new AbortController();
  const source = openLocalSource({ config: { directory: folder }, signal: stop.signal });
  const page = createOperatorsPage({ source, admission: admission ?? door, pollMs: 20, log });
  const server = await startOperateServer({ page, hostname, port: 0, log });
  return {
    url: server.url,
    /** As it is printed on loopback. */
    address: door.address(`${server.url}/operate/`),
    async close() {
      await server.close();
      stop.abort();
      await source.close();
    },
  };
}
