/** Where the commands about people's data find the Verification zone's records: the local run's file, or a stage on AWS. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { SQSClient } from "@aws-sdk/client-sqs";
import { type CommandRun, UsageError } from "../../../bin/commands/command.ts";
import { loadConfig } from "../../../lambdas/shared/config/load.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { sqsSettings } from "../../../lambdas/shared/engine/aws/client.ts";
import { createSqsQueue } from "../../../lambdas/shared/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "../../../lambdas/shared/engine/aws/task-store.ts";
import type { ErasableStore, TaskQueue } from "../../../lambdas/shared/engine/ports.ts";
import { openDatabase } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { callAws } from "../aws/aws-failure.ts";
import { openStage } from "../aws/open-stage.ts";
import type { StackOutputs } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";
import type { PlaceValues } from "../tasks/place.ts";
import { parseRecord, type StoredRecord } from "./person.ts";

/** Texts for a person; `store` rejects with errors that say what to do. */
export type RecordPlace = {
  /** Completes "There is nothing of that person ...". */
  where: string;
  store: ErasableStore<StoredRecord>;
  queue: Pick<TaskQueue, "send">;
  /** What else is known of the place. */
  at: { file: string } | (NamedStage & { outputs: StackOutputs });
  /** Throws a ConfigError where it is wrong; not every command needs it. */
  config(): Config;
  close(): Promise<void>;
};

/** Runs `work` at the place that the words name, and closes it. */
export async function atRecordPlace<T>(
  { directory, signal }: Pick<CommandRun, "directory" | "signal">,
  { stage, store, config: configFile }: PlaceValues,
  work: (place: RecordPlace) => Promise<T>,
): Promise<T> {
  if (stage !== undefined && store !== undefined) throw new UsageError("--stage or --store, not both.");
  const place =
    stage === undefined
      ? openLocalRecords({
          file: store === undefined ? join(directory, ".sekisho", "verification.db") : resolve(directory, store),
          config: () => loadConfig({ directory, file: configFile }),
        })
      : await openStageRecords({ config: loadConfig({ directory, file: configFile }), stage, signal });
  try {
    return await work(place);
  } finally {
    await place.close();
  }
}

function openLocalRecords({ file, config }: { file: string; config: RecordPlace["config"] }): RecordPlace {
  if (!existsSync(file)) {
    throw new Error(
      `There is no ${file}: the local run keeps its records there. Name its file by --store, or a stage on AWS by --stage.`,
    );
  }
  const database = openDatabase({ file });
  return {
    where: `in ${file}`,
    store: createSqliteTaskStore({ database, parse: parseRecord }),
    // It only sends, so that what the file's zone thinks of deliveries does not matter.
    queue: createSqliteQueue({ database, name: "tasks" }),
    at: { file },
    config,
    close: () => database.close(),
  };
}

async function openStageRecords({
  config,
  stage,
  signal,
}: {
  config: Config;
  stage: string;
  signal: AbortSignal;
}): Promise<RecordPlace> {
  const opened = await openStage({ config, stage, signal });
  const { stageName, outputs, region, client, guarded } = opened;
  const sqs = new SQSClient({ ...sqsSettings, region });
  const queue = createSqsQueue({ client: sqs, queueUrl: outputs.queueUrl, signal });
  const store = createDynamoTaskStore({ client, table: outputs.tableName, parse: parseRecord, signal });
  return {
    where: `in stage ${stageName}`,
    store: guardedStore({ store, signal }),
    queue: {
      send: (request) => guarded("send a message to the queue of tasks", () => queue.send(request)),
    },
    at: { stageName, stage: opened.stage, outputs },
    config: () => config,
    async close() {
      client.destroy();
      sqs.destroy();
    },
  };
}

// A store on AWS as a command calls it: each call has a deadline, and says what to do where AWS refuses it.

export function guardedStore({
  store,
  signal,
}: {
  store: ErasableStore<StoredRecord>;
  signal: AbortSignal;
}): ErasableStore<StoredRecord> {
  const guarded = <R>(doing: string, call: () => Promise<R>) => callAws({ doing, signal, call });
  return {
    get: (request) => guarded("read a record", () => store.get(request)),
    create: (request) => guarded("write a record", () => store.create(request)),
    replace: (request) => guarded("write a record", () => store.replace(request)),
    list: (request) => guarded("list records", () => store.list(request)),
    remove: (request) => guarded("delete a record", () => store.remove(request)),
  };
}
