/** The stores and the queue of a stage on AWS, with the operator's own credentials. */
import type { Config } from "@sekisho/config/schema.ts";
import { findExecutionTarget } from "@sekisho/config/stage-config.ts";
import { createSqsQueue } from "@sekisho/runtime/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import type { ErasableStore, TaskItem } from "@sekisho/runtime/engine/ports.ts";
import { toStateBucket } from "@sekisho/verification/task/buckets.ts";
import { callerIdentity } from "../aws/account.ts";
import { AwsFailure, callAws } from "../aws/aws-failure.ts";
import { openSdkDynamoDb, openSdkSqs } from "../aws/sdk-clients.ts";
import { readExecutionTable, readStackOutputs } from "../aws/stack-outputs.ts";
import { chooseStage, type NamedStage } from "../aws/stage.ts";
import type { Guarded, OpenStage, OpenZone, StoreRequest, StoreWork } from "./open-zone.ts";

type StageOptions = { config: Config; stage: string; signal: AbortSignal };

/** Opens the Verification zone. Rejects where the stage is unknown, not deployed, or in another account. */
export async function openStageZone({
  config,
  stage,
  signal,
}: StageOptions): Promise<OpenZone & { at: OpenStage }> {
  const namedStage = chooseStage(config, stage);
  const outputs = await readStackOutputs({ ...namedStage, signal });
  const { region } = namedStage.stage.verification;
  const client = openSdkDynamoDb({ region });
  const sqs = openSdkSqs({ region });
  const callGuarded: Guarded = (doing, call) => callAws({ doing, signal, call });
  const queue = createSqsQueue({ client: sqs, queueUrl: outputs.queueUrl, signal });
  return {
    where: `in stage ${namedStage.stageName}`,
    store: ({ parse, doing }) =>
      guardedStore({
        store: createDynamoTaskStore({
          client,
          table: outputs.tableName,
          parse,
          bucketOf: toStateBucket,
          signal,
        }),
        doing,
        signal,
      }),
    queue: {
      send: (request) =>
        callGuarded("send a message to the queue of tasks", () => queue.send(request)),
    },
    at: { ...namedStage, outputs, client, guarded: callGuarded },
    config: () => config,
    async close() {
      client.destroy();
      sqs.destroy();
    },
  };
}

type TableWork<T extends TaskItem, Result> = NamedStage & StoreWork<T, Result>;

/** Runs `work` on the table of the stage's Execution zone. Resolves to undefined where the stage deploys none. */
export async function withExecutionTable<T extends TaskItem, Result>(
  request: TableWork<T, Result>,
): Promise<Result | undefined> {
  const { stageName, stage, parse, work, signal } = request;
  const target = findExecutionTarget(stage);
  if (target === undefined) return undefined;
  const { account, region } = target;
  const { account: actual } = await callerIdentity({ region, signal });
  if (actual !== account) {
    throw new AwsFailure(
      `The Execution zone is in account ${account}, but these credentials are of ${actual}.`,
    );
  }
  const table = await readExecutionTable({ stageName, region, signal });
  const client = openSdkDynamoDb({ region });
  const doing = {
    read: "read the Execution zone's record",
    list: "list the Execution zone's records",
  };
  try {
    return await work(
      guardedStore({
        store: createDynamoTaskStore({ client, table, parse, signal }),
        doing,
        signal,
      }),
    );
  } finally {
    client.destroy();
  }
}

type GuardedStore<T extends TaskItem> = {
  store: ErasableStore<T>;
  doing?: StoreRequest<T>["doing"] | undefined;
  signal: AbortSignal;
};

/** Gives each call of the store a deadline, and an error that says what to do if AWS refuses it. */
function guardedStore<T extends TaskItem>({
  store,
  doing: { read = "read a record", write = "write a record", list = "list records" } = {},
  signal,
}: GuardedStore<T>): ErasableStore<T> {
  const callGuarded: Guarded = (doing, call) => callAws({ doing, signal, call });
  return {
    get: (request) => callGuarded(read, () => store.get(request)),
    create: (request) => callGuarded(write, () => store.create(request)),
    replace: (request) => callGuarded(write, () => store.replace(request)),
    list: (request) => callGuarded(list, () => store.list(request)),
    scan: (request) => callGuarded(list, () => store.scan(request)),
    remove: (request) => callGuarded("delete a record", () => store.remove(request)),
  };
}
