/** The Execution zone's records of a person's tasks, which know the request ids and not the person. */
import { existsSync } from "node:fs";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import * as z from "zod";
import { taskStateSchema } from "../../../contracts/methods.ts";
import { findExecutionPlace } from "../../../lambdas/shared/config/stage-config.ts";
import { dynamoDbSettings } from "../../../lambdas/shared/engine/aws/client.ts";
import { createDynamoTaskStore } from "../../../lambdas/shared/engine/aws/task-store.ts";
import type { ErasableStore } from "../../../lambdas/shared/engine/ports.ts";
import { openDatabase } from "../../../lambdas/shared/engine/sqlite/database.ts";
import { createSqliteTaskStore } from "../../../lambdas/shared/engine/sqlite/engine.ts";
import { callerIdentity } from "../aws/account.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { readExecutionTable } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";
import { guardedStore } from "../zone/stage-zone.ts";
import { listRecords } from "./find-person.ts";
import { type DataPart, parseRecord, type StoredRecord } from "./person.ts";

type Store = ErasableStore<StoredRecord>;

/** After its end a host of ours keeps a task for a day; a little longer where clocks differ. */
export const executionRetentionMs = 26 * 3600_000;

/** The longest time after which a host may be configured to give up a lease that has lapsed. */
const lostAfterMs = 300_000;
const leaseSchema = z.object({ untilMs: z.number() });

/** Of the local run. Without its file there is nothing. */
export function createLocalExecutionPart({ file, signal }: { file: string; signal: AbortSignal }): DataPart {
  return part(signal, async (work) => {
    if (!existsSync(file)) return 0;
    const database = openDatabase({ file });
    try {
      return await work(createSqliteTaskStore({ database, parse: parseRecord }));
    } finally {
      await database.close();
    }
  });
}

/** Of a stage. Rejects with an AwsFailure where the credentials are not of the Execution zone's account. */
export function createStageExecutionPart({ stageName, stage, signal }: NamedStage & { signal: AbortSignal }): DataPart {
  return part(signal, async (work) => {
    const place = findExecutionPlace(stage);
    if (place === undefined) return 0;
    const { account, region } = place;
    const { account: actual } = await callerIdentity({ region, signal });
    if (actual !== account) {
      throw new AwsFailure(`It is in account ${account}, and these credentials are of ${actual}.`);
    }
    const table = await readExecutionTable({ stageName, region, signal });
    const client = new DynamoDBClient({ ...dynamoDbSettings, region });
    try {
      return await work(
        guardedStore({ store: createDynamoTaskStore({ client, table, parse: parseRecord, signal }), signal }),
      );
    } finally {
      client.destroy();
    }
  });
}

type Open = (work: (store: Store) => Promise<number>) => Promise<number>;

function part(signal: AbortSignal, open: Open): DataPart {
  async function each(ids: ReadonlySet<string>, work: (store: Store, record: StoredRecord) => Promise<void>) {
    return open(async (store) => {
      let sum = 0;
      for (const key of taskStateSchema.options) {
        for await (const record of listRecords({ store, index: "state", key, signal })) {
          if (!isOf(record, ids)) continue;
          await work(store, record);
          sum += 1;
        }
      }
      return sum;
    });
  }
  return {
    what: "Execution zone's records",
    count: ({ ids }) => (ids.size === 0 ? Promise.resolve(0) : each(ids, async () => {})),
    erase: ({ ids }) =>
      ids.size === 0
        ? Promise.resolve(0)
        : each(ids, async (store, { id, revision, state, lease }) => {
            if (isAtWork({ state, lease }) || !(await store.remove({ id, revision }))) {
              throw new Error(
                "An agent is still at work on one of the tasks. Run the command once more when it has ended.",
              );
            }
          }),
  };
}

/**
 * Who asked has ended these tasks: nobody answers a question of one, none that has not begun is waited for, and what a host that
 * died left behind is read by nobody. Only an agent that somebody runs would go on with what was taken away.
 */
function isAtWork({ state, lease }: Pick<StoredRecord, "state"> & { lease?: unknown }): boolean {
  const untilMs = leaseSchema.safeParse(lease).data?.untilMs;
  return state === "working" && untilMs !== undefined && Date.now() < untilMs + lostAfterMs;
}

/** An agent that is asked over A2A knows the request as its correlation id. */
function isOf({ requestId, correlationId }: StoredRecord, ids: ReadonlySet<string>): boolean {
  return [requestId, correlationId].some((id) => typeof id === "string" && ids.has(id.toLowerCase()));
}
