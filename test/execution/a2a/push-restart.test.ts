/** Notifications over a queue in a file, with a process that ends while a receiver is away. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { parseExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import { runQueueLoop } from "../../../lambdas/shared/engine/loop.ts";
import { openDatabase } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { silence } from "../../doubles/answers.ts";
import { eventually } from "../test-host.ts";
import { configOf, createPushZone, startReceiver, statesOf } from "./push-zone.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-push-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** What one process does with the file until it ends, without time to finish anything. */
function startProcess({ visibilityTimeoutMs }: { visibilityTimeoutMs: number }) {
  const database = openDatabase({ file: join(folder, "execution.db") });
  const queue = createSqliteQueue({ database, name: "notifications" });
  const zone = createPushZone({ queue, store: createSqliteTaskStore({ database, parse: parseExecutionTask }) });
  const ending = new AbortController();
  const loop = runQueueLoop({
    consumer: queue,
    handle: ({ body }, signal) => zone.delivery.handle({ body, signal }),
    concurrency: 4,
    visibilityTimeoutMs,
    signal: ending.signal,
    log: silentLog,
    graceMs: 0,
  });
  return {
    ...zone,
    async end() {
      ending.abort();
      await loop;
      await database.close();
    },
  };
}

describe("a notification survives the end of its process", () => {
  it.each<[string, () => Response | Promise<Response>]>([
    ["between two tries", () => new Response(null, { status: 503 })],
    ["in the midst of one", () => silence({ signal: new AbortController().signal })],
  ])("%s", async (_when, answer) => {
    let isBack = false;
    const { url, received, close } = await startReceiver({
      answers: new Array(8).fill(() => (isBack ? new Response() : answer())),
    });
    const first = startProcess({ visibilityTimeoutMs: 300 });
    await first.begin({ pushConfigs: [configOf({ url })] });
    await eventually(() => statesOf(received).includes("TASK_STATE_COMPLETED"));
    await first.end();
    isBack = true;
    const told = received.length;
    const second = startProcess({ visibilityTimeoutMs: 30_000 });
    await eventually(() => received.length > told);
    await second.end();
    await close();
    expect(statesOf(received.slice(told))).toEqual(["TASK_STATE_COMPLETED"]);
  });
});
