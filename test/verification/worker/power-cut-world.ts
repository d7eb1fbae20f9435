/**
 * A Verification zone on a sqlite file whose power can be cut, beside a host and a Slack that keep theirs. A cut ends the zone's process and
 * leaves of the file what a disk may have: every commit up to the last synced one, and any number of the following ones.
 */
import { copyFileSync, mkdtempSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseConfig } from "@sekisho/config/load.ts";
import { type Database, openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { isOutcome } from "@sekisho/verification/slack/api/post-keys.ts";
import {
  createVerificationWorker,
  openWorkerStores,
} from "@sekisho/verification/worker/verification-worker.ts";
import { type Commit, watchCommits } from "../../doubles/sqlite-commits.ts";
import { createFaults, type WorkerProcess } from "../../world/faults.ts";
import { createWorldHost } from "../../world/host.ts";
import { worldFiles } from "../../world/people.ts";
import { createWorldSlack } from "../../world/slack.ts";
import { askedAtMs, sampleAsk, samplePolicy } from "../task/sample.ts";

const visibilityTimeoutMs = 90_000;
const config = parseConfig({ json: { allowlist: [{ team: "T1" }] } });

export type PowerCutOptions = {
  /** With more than 0 the host answers `accepted`, and the poll of that number brings the result. */
  pollsUntilDone?: number;
  /** The host deduplicates by request id. */
  isIdempotent?: boolean;
  /** The power is cut at the moment of that number, counted from 1: before an operation or a commit, or before Slack's event is acknowledged. */
  cutAt?: number;
  /** How many of the commits that nothing synced are on the disk after the cut. */
  survivors?: number;
  /** Makes writes losable that must not be. */
  storeDatabase?: (database: Database) => Database;
  queueDatabase?: (database: Database) => Database;
};

export type PowerCutRun = {
  moments: number;
  /** The commits that nothing had synced at the cut. */
  unsynced: number;
  diskWaits: number;
  starts: number;
  answers: number;
};

/** Runs a task from Slack's event to the last message of the queue. */
export async function runWithPowerCut({
  pollsUntilDone = 0,
  isIdempotent = true,
  cutAt = Number.POSITIVE_INFINITY,
  survivors = 0,
  storeDatabase = (database) => database,
  queueDatabase = (database) => database,
}: PowerCutOptions = {}): Promise<PowerCutRun> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-power-"));
  const power = Promise.withResolvers<"cut">();
  let clockMs = askedAtMs + 500;
  let moments = 0;
  let posts = 0;
  let diskWaits = 0;
  let isAcknowledged = false;
  let process: WorkerProcess = { isAlive: true };
  /** The lengths of the write-ahead log at the last synced commit and at each that followed. sqlite only appends to it. */
  let logBytes: number[] = [];
  const databases: Database[] = [];
  const now = () => clockMs;

  /** True if the power is cut now. */
  function isCut(): boolean {
    moments += 1;
    if (moments !== cutAt) return false;
    process.isAlive = false;
    power.resolve("cut");
    return true;
  }

  const { operate } = createFaults({ fault: () => isCut() && "dies_before", now });
  const newTs = () => (askedAtMs / 1000 + ++posts / 1000).toFixed(6);
  const slack = createWorldSlack({ operate, now, newTs });
  const host = createWorldHost({ operate, now, pollsUntilDone, idempotent: isIdempotent });

  function open({ file, process }: { file: string; process: WorkerProcess }): Database {
    const sizeOfLog = () => statSync(`${file}-wal`).size;
    const { stop } = watchCommits({
      beforeCommit() {
        if (!process.isAlive || isCut()) throw new Error("The power is off.");
      },
      afterCommit({ isSynced }: Commit) {
        if (isSynced) diskWaits += 1;
        logBytes = isSynced ? [sizeOfLog()] : [...logBytes, sizeOfLog()];
      },
    });
    const database = openDatabase({ file });
    stop();
    databases.push(database);
    logBytes = [sizeOfLog()];
    return database;
  }

  /** Delivers Slack's event until it was acknowledged, and handles messages until none is left. */
  async function runProcess({
    file,
    process,
  }: {
    file: string;
    process: WorkerProcess;
  }): Promise<void> {
    const database = open({ file, process });
    const queue = createSqliteQueue({ database: queueDatabase(database), name: "tasks", now });
    const nextDue = database.prepare("SELECT MIN(visible_at_ms) AS at_ms FROM messages");
    const storedDatabase = storeDatabase(database);
    const worker = createVerificationWorker({
      engine: {
        ...openWorkerStores((parse) =>
          createSqliteTaskStore({ database: storedDatabase, parse, now }),
        ),
        queue,
      },
      policy: samplePolicy({ idempotent: isIdempotent, deadlineMs: 15 * 60_000 }),
      slack: slack.api(process),
      files: worldFiles({ operate, process, uploads: [], given: {} }),
      destinations: new Map([
        [
          "host",
          {
            client: host.client(process),
            callTimeoutMs: 30_000,
            maxSends: 10,
            longPollMs: 0,
            takesVotes: true,
          },
        ],
      ]),
      config,
      log: silentLog,
      now,
      random: () => 0.5,
    });
    if (!isAcknowledged) {
      await queue.send({ body: JSON.stringify(sampleAsk()) });
      if (isCut()) return;
      isAcknowledged = true;
    }
    for (;;) {
      const dueAtMs = nextDue.get()?.at_ms;
      if (typeof dueAtMs !== "number") return;
      clockMs = Math.max(clockMs, dueAtMs) + 50;
      const [message] = await queue.receive({ max: 1, visibilityTimeoutMs, waitMs: 0 });
      const isHandled =
        message !== undefined &&
        (await worker.handle(message).then(
          () => process.isAlive,
          () => false,
        ));
      if (isHandled) await queue.finish(message);
    }
  }

  try {
    const file = join(folder, "verification.db");
    const cut = await Promise.race([runProcess({ file, process }), power.promise]);
    const unsyncedBytes = logBytes.length - 1;
    if (cut === "cut") {
      const copy = join(folder, "after-the-cut.db");
      copyFileSync(file, copy);
      copyFileSync(`${file}-wal`, `${copy}-wal`);
      truncateSync(`${copy}-wal`, logBytes[survivors]);
      process = { isAlive: true };
      await runProcess({ file: copy, process });
    }
    const answers = slack.posts.filter(({ key }) => isOutcome(key)).length;
    return { moments, unsynced: unsyncedBytes, diskWaits, starts: host.starts.length, answers };
  } finally {
    for (const database of databases) await database.close();
    rmSync(folder, { recursive: true });
  }
}
