/** The Verification zone of a stage on AWS, with the operator's own credentials: its table, its queue, and what its stack says. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { dynamoDbSettings, sqsSettings } from "../../../lambdas/shared/engine/aws/client.ts";
import { createSqsQueue } from "../../../lambdas/shared/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "../../../lambdas/shared/engine/aws/task-store.ts";
import type { ErasableStore, TaskItem } from "../../../lambdas/shared/engine/ports.ts";
import { callAws } from "../aws/aws-failure.ts";
import { readStackOutputs } from "../aws/stack-outputs.ts";
import { chooseStage } from "../aws/stage.ts";
import type { Guarded, OpenStage, OpenZone, StoreRequest } from "./open-zone.ts";

/** Rejects with what to do where the stage is unknown, not deployed, or of another account. */
export async function openStageZone({
  config,
  stage,
  signal,
}: {
  config: Config;
  stage: string;
  signal: AbortSignal;
}): Promise<OpenZone & { at: OpenStage }> {
  const named = chooseStage(config, stage);
  const outputs = await readStackOutputs({ ...named, signal });
  const { region } = named.stage.verification;
  const client = new DynamoDBClient({ ...dynamoDbSettings, region });
  const sqs = new SQSClient({ ...sqsSettings, region });
  const guarded: Guarded = (doing, call) => callAws({ doing, signal, call });
  const queue = createSqsQueue({ client: sqs, queueUrl: outputs.queueUrl, signal });
  return {
    where: `in stage ${named.stageName}`,
    store: ({ parse, doing }) =>
      guardedStore({
        store: createDynamoTaskStore({ client, table: outputs.tableName, parse, signal }),
        doing,
        signal,
      }),
    queue: { send: (request) => guarded("send a message to the queue of tasks", () => queue.send(request)) },
    at: { ...named, outputs, client, guarded },
    config: () => config,
    async close() {
      client.destroy();
      sqs.destroy();
    },
  };
}

/** A store on AWS as a command calls it: each call has a deadline, and says what to do where AWS refuses it. */
export function guardedStore<T extends TaskItem>({
  store,
  doing: { read = "read a record", write = "write a record", list = "list records" } = {},
  signal,
}: {
  store: ErasableStore<T>;
  doing?: StoreRequest<T>["doing"] | undefined;
  signal: AbortSignal;
}): ErasableStore<T> {
  const guarded: Guarded = (doing, call) => callAws({ doing, signal, call });
  return {
    get: (request) => guarded(read, () => store.get(request)),
    create: (request) => guarded(write, () => store.create(request)),
    replace: (request) => guarded(write, () => store.replace(request)),
    list: (request) => guarded(list, () => store.list(request)),
    remove: (request) => guarded("delete a record", () => store.remove(request)),
  };
}
