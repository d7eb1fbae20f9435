/** An open Verification zone: its stores and its queue, on one machine or in a stage. */
import type { Config } from "@sekisho/config/schema.ts";
import type { DynamoDb } from "@sekisho/runtime/engine/aws/client.ts";
import type { ErasableStore, TaskItem, TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import type { Database } from "@sekisho/runtime/engine/sqlite/database.ts";
import type { StackOutputs } from "../aws/stack-outputs.ts";
import type { NamedStage } from "../aws/stage.ts";

/** The store and the queue reject with errors whose messages say what to do. */
export type OpenZone = {
  /** Completes "There is nothing of that person ...". */
  where: string;
  store<T extends TaskItem>(request: StoreRequest<T>): ErasableStore<T>;
  queue: Pick<TaskQueue, "send">;
  at: OpenFile | OpenStage;
  /** Throws a ConfigError. Read on demand, because not every command on one machine needs it. */
  config(): Config;
  close(): Promise<void>;
};

export type StoreRequest<T> = {
  parse: (json: unknown) => T;
  /** Names of the AWS calls for errors. Each completes "Could not ...". */
  doing?: { read?: string; write?: string; list?: string };
};

export type OpenFile = { file: string; database: Database };

export type OpenStage = NamedStage & {
  outputs: StackOutputs;
  client: DynamoDb;
  /** Runs one call with a deadline. `doing` completes "Could not ...". Rejects with an AwsFailure. */
  guarded: Guarded;
};

export type Guarded = <T>(doing: string, call: () => Promise<T>) => Promise<T>;

export type StoreWork<T extends TaskItem, Result> = {
  parse: (json: unknown) => T;
  work: (store: ErasableStore<T>) => Promise<Result>;
  signal: AbortSignal;
};
