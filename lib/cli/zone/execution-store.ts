/** The Execution zone's store of tasks, beside the Verification zone that a command works on. */
import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TaskItem } from "@sekisho/runtime/engine/ports.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import type { NamedStage } from "../aws/stage.ts";
import type { StoreWork } from "./open-zone.ts";

/** `file` is the Verification zone's. */
export type ExecutionTarget = { file: string } | NamedStage;

type ExecutionWork<T extends TaskItem, Result> = StoreWork<T, Result> & { at: ExecutionTarget };

/**
 * Runs `work` on the store, and closes it. Resolves to undefined if there is no store here, because the tasks run elsewhere.
 * Rejects with an AwsFailure if the credentials do not reach the store.
 */
export async function withExecutionStore<T extends TaskItem, Result>({
  at,
  ...request
}: ExecutionWork<T, Result>): Promise<Result | undefined> {
  if (!("file" in at))
    return (await import("./stage-zone.ts")).withExecutionTable({ ...at, ...request });
  const file = executionFile(at.file);
  if (!hasTables(file)) return undefined;
  const database = openDatabase({ file });
  try {
    return await request.work(createSqliteTaskStore({ database, parse: request.parse }));
  } finally {
    await database.close();
  }
}

/** False for a missing or an empty sqlite file. Opening an empty file would create tables in it. */
export function hasTables(file: string): boolean {
  return existsSync(file) && statSync(file).size > 0;
}

/** The file of the local run's Execution zone. */
export function executionFile(verificationFile: string): string {
  return join(dirname(verificationFile), "execution.db");
}
