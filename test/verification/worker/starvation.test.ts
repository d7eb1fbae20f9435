/** A destination that never answers leaves the tasks of the others room. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { runQueueLoop } from "../../../lambdas/shared/engine/loop.ts";
import { createMemoryTaskStore } from "../../../lambdas/shared/engine/memory/task-store.ts";
import { openDatabase } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { threadSchema } from "../../../lambdas/verification/task/thread.ts";
import type { ExecutionClient } from "../../../lambdas/verification/transport/runner.ts";
import {
  createVerificationWorker,
  openWorkerStores,
} from "../../../lambdas/verification/worker/verification-worker.ts";
import { sampleAsk, samplePolicy } from "../task/sample.ts";
import { createFates, type Fate } from "./world-fates.ts";
import { worldFiles, worldGate, worldText } from "./world-people.ts";
import { createWorldSlack } from "./world-slack.ts";

const concurrency = 8;
const maxSends = 6;

it("a destination that hangs holds no more slots than are its own, and the others' tasks are answered", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-starvation-"));
  const database = openDatabase({ file: join(folder, "verification.db") });
  const queue = createSqliteQueue({ database, name: "tasks" });
  const store = createSqliteTaskStore({ database, parse: (json) => taskSchema.parse(json) });
  const threadStore = createSqliteTaskStore({ database, parse: (json) => threadSchema.parse(json) });
  const answered = Promise.withResolvers<void>();
  let hanging = 0;
  let most = 0;
  const hangs: ExecutionClient = {
    call: ({ signal }) =>
      new Promise((_, reject) => {
        most = Math.max(most, ++hanging);
        signal?.addEventListener("abort", () => reject(new Error("stopped")));
      }),
    close: async () => {},
  };
  const works: ExecutionClient = {
    call: async () => ({ status: "success", response_text: "Here." }) as never,
    close: async () => {},
  };
  const { operate } = createFates({ fate: ({ name }) => (name === "update" ? told() : "ok"), now: Date.now });
  const alive = { yes: true };
  let ts = 0;
  const thread = { operate, now: Date.now, newTs: () => `${++ts}.0`, inSlack: [], refuses: () => false };
  function told(): Fate {
    answered.resolve();
    return "ok";
  }
  const destinationOf = (client: ExecutionClient) => ({ client, callTimeoutMs: 30_000, maxSends, longPollMs: 0 });
  const sample = samplePolicy();
  const [policy] = sample.destinations.values();
  if (policy === undefined) throw new Error("the sample has a destination");
  const worker = createVerificationWorker({
    engine: {
      ...openWorkerStores((parse) => createMemoryTaskStore({ parse })),
      store,
      threadStore,
      queue,
    },
    slack: createWorldSlack(thread).api(alive),
    gate: worldGate({ operate, alive, underWay: new Set(), rules: {} }),
    files: worldFiles({ operate, alive, uploads: [], given: {} }),
    text: worldText,
    policy: {
      ...sample,
      routeOf: ({ channel }) => [channel === "C1" ? "hangs" : "works"],
      destinations: new Map([
        ["hangs", policy],
        ["works", policy],
      ]),
    },
    destinations: new Map([
      ["hangs", destinationOf(hangs)],
      ["works", destinationOf(works)],
    ]),
    config: parseConfig({ json: { slack: { reactions: false, streaming: false }, limits: { leaseMs: 60_000 } } }),
    log: silentLog,
    newId: randomUUID,
  });
  const stop = new AbortController();
  const loop = runQueueLoop({
    consumer: queue,
    handle: ({ body }, signal) => worker.handle({ body, signal }),
    concurrency,
    visibilityTimeoutMs: 90_000,
    signal: stop.signal,
    log: silentLog,
    graceMs: 10,
  });
  const say = async (channel: string, n: number) => {
    const ask = sampleAsk({ channel, ts: `${Math.floor(Date.now() / 1000)}.${String(n).padStart(6, "0")}` });
    await queue.send({ body: JSON.stringify({ ...ask, requestId: randomUUID(), receivedAtMs: Date.now() }) });
  };
  for (let n = 0; n < 3 * concurrency; n++) await say("C1", n);
  while (hanging < maxSends) await new Promise((resolve) => setTimeout(resolve, 10));
  await say("C2", 0);
  await answered.promise;
  stop.abort();
  await loop;
  await database.close();
  rmSync(folder, { recursive: true, force: true });
  expect(most).toBe(maxSends);
});
