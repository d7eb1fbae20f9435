/** An open zone: what a command reads, writes and sends there, on one machine as in a stage. */
import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { ErasableStore, TaskItem, TaskQueue } from "../../../lambdas/shared/engine/ports.ts";
import type { Database } from "../../../lambdas/shared/engine/sqlite/database.ts";
import type { StackOutputs } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";

/** Texts for a person; the store and the queue reject with errors that say what to do. */
export type OpenZone = {
  /** Completes "There is nothing of that person ...". */
  where: string;
  store<T extends TaskItem>(request: StoreRequest<T>): ErasableStore<T>;
  queue: Pick<TaskQueue, "send">;
  at: OpenFile | OpenStage;
  /** Throws a ConfigError where it is wrong; not every command on one machine needs it. */
  config(): Config;
  close(): Promise<void>;
};

export type StoreRequest<T> = {
  parse: (json: unknown) => T;
  /** How the calls of AWS are named where one fails: each completes "Could not ...". */
  doing?: { read?: string; write?: string; list?: string };
};

export type OpenFile = { file: string; database: Database };

export type OpenStage = NamedStage & {
  outputs: StackOutputs;
  client: DynamoDBClient;
  /** One call within a deadline of its own; `doing` completes "Could not ...". Rejects with an AwsFailure. */
  guarded: Guarded;
};

export type Guarded = <T>(doing: string, call: () => Promise<T>) => Promise<T>;
