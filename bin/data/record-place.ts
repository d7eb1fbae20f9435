/** Where the commands about people's data find the Verification zone's records: the local run's file, or a stage on AWS. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { configPath, loadConfig } from "../../lambdas/shared/config/load.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { dynamoDbSettings } from "../../lambdas/shared/engine/aws/client.ts";
import { createDynamoTaskStore } from "../../lambdas/shared/engine/aws/task-store.ts";
import type { ErasableStore } from "../../lambdas/shared/engine/ports.ts";
import { openDatabase } from "../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "../../lambdas/shared/engine/sqlite/task-store.ts";
import { callAws } from "../aws/aws-failure.ts";
import { readStackOutputs, type StackOutputs } from "../aws/stack-outputs.ts";
import { chooseStage, type NamedStage } from "../aws/stage.ts";
import { type CommandRun, UsageError } from "../commands/command.ts";
import type { PlaceValues } from "../tasks/place.ts";
import { parseRecord, type StoredRecord } from "./record.ts";

/** Texts for a person; `store` rejects with errors that say what to do. */
export type RecordPlace = {
  /** Completes "There is nothing of that person ...". */
  where: string;
  store: ErasableStore<StoredRecord>;
  /** What else is known of the place. */
  at: { file: string } | (NamedStage & { outputs: StackOutputs });
  /** Undefined where the local run has no configuration of its own. Throws a ConfigError where it has one that is wrong. */
  config(): Config | undefined;
  close(): Promise<void>;
};

/** Runs `work` at the place that the words name, and closes it. */
export async function atRecordPlace<T>(
  { directory, signal }: Pick<CommandRun, "directory" | "signal">,
  { stage, store, config: configFile }: PlaceValues,
  work: (place: RecordPlace) => Promise<T>,
): Promise<T> {
  if (stage !== undefined && store !== undefined) throw new UsageError("--stage or --store, not both.");
  const hasConfig = configFile !== undefined || existsSync(configPath({ directory, file: configFile }));
  const place =
    stage === undefined
      ? openLocalRecords({
          file: store === undefined ? join(directory, ".sekisho", "verification.db") : resolve(directory, store),
          config: () => (hasConfig ? loadConfig({ directory, file: configFile }) : undefined),
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
  const named = chooseStage(config, stage);
  const outputs = await readStackOutputs({ ...named, signal });
  const client = new DynamoDBClient({ ...dynamoDbSettings, region: named.stage.verification.region });
  const store = createDynamoTaskStore({ client, table: outputs.tableName, parse: parseRecord, signal });
  return {
    where: `in stage ${named.stageName}`,
    store: guardedStore({ store, signal }),
    at: { ...named, outputs },
    config: () => config,
    close: async () => client.destroy(),
  };
}

/** Each call has a deadline of its own, and says what to do where AWS refuses it. */
export function guardedStore<T extends StoredRecord>({
  store,
  signal,
}: {
  store: ErasableStore<T>;
  signal: AbortSignal;
}): ErasableStore<T> {
  const guarded = <R>(doing: string, call: () => Promise<R>) => callAws({ doing, signal, call });
  return {
    get: (request) => guarded("read a record", () => store.get(request)),
    create: (request) => guarded("write a record", () => store.create(request)),
    replace: (request) => guarded("write a record", () => store.replace(request)),
    list: (request) => guarded("list records", () => store.list(request)),
    remove: (request) => guarded("delete a record", () => store.remove(request)),
  };
}
