/** Where the commands find tasks, one of each kind: a sqlite file, and a stage whose table and queue are in the emulators. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDynamoDb, openSqs } from "@sekisho/runtime/engine/aws/client.ts";
import { createSqsQueue } from "@sekisho/runtime/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import { type Engine, openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { toStateBucket } from "@sekisho/verification/task/buckets.ts";
import { emulatedAws, whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { createQueuePair, createTaskTable } from "../../doubles/aws/emulators-resources.ts";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { openEmulators } from "../../doubles/aws/open-emulators.ts";
import type { Run } from "../../e2e/processes.ts";
import { deploy, twoAccounts, verificationAccount, writeConfig } from "../aws/a-stage.ts";
import { commandHere } from "../aws/command-here.ts";

export type TestPlace = {
  folder: string;
  /** What a Verification zone at this place would work with, too. */
  engine: Engine;
  /** `sekisho <args>` at this place. */
  command(...args: string[]): Promise<Run>;
  /** `sekisho tasks <args>` at this place. */
  tasks(...args: string[]): Promise<Run>;
  /** Undefined where the place is none on AWS. */
  aws: AwsServices | undefined;
  close(): Promise<void>;
};

const maxReceiveCount = 5;

export async function openSqlitePlace(): Promise<TestPlace> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-tasks-"));
  const file = join(folder, "verification.db");
  const engine = openSqliteEngine({ file });
  return {
    folder,
    engine,
    command: (...args) => commandHere([...args, "--store", file], {}),
    tasks: (...args) => commandHere(["tasks", ...args, "--store", file], {}),
    aws: undefined,
    async close() {
      await engine.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** `slack` is that section of the configuration. */
export async function openAwsPlace({ slack = {} }: { slack?: object } = {}): Promise<TestPlace> {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-tasks-"));
  const { emulators, clients, close } = await openEmulators();
  const table = await createTaskTable({ client: clients.dynamo });
  const { queueUrl, deadLettersUrl } = await createQueuePair({
    client: clients.queues,
    maxReceiveCount,
  });
  const [sqsUrl, dynamoUrl] = [emulators.queues.endpoint, emulators.dynamo.endpoint];
  const aws = await startAwsServices({ account: verificationAccount, sqsUrl, dynamoUrl });
  deploy({
    aws,
    json: twoAccounts,
    queues: { main: queueUrl, archive: deadLettersUrl },
    tableName: table,
  });
  const config = writeConfig({ folder, name: "two.json", json: { ...twoAccounts, slack } });
  return {
    folder,
    engine: {
      taskStore: ({ parse }) =>
        createDynamoTaskStore({
          client: openDynamoDb(emulatedAws(dynamoUrl)),
          table,
          parse,
          bucketOf: toStateBucket,
        }),
      taskQueue: () => ({
        queue: createSqsQueue({ client: openSqs(emulatedAws(sqsUrl)), queueUrl }),
        deadLetters: createSqsQueue({
          client: openSqs(emulatedAws(sqsUrl)),
          queueUrl: deadLettersUrl,
        }),
      }),
      close: async () => {},
    },
    command: (...args) => commandHere([...args, "--stage", "prod", "--config", config], aws.env),
    tasks: (...args) =>
      commandHere(["tasks", ...args, "--stage", "prod", "--config", config], aws.env),
    aws,
    async close() {
      await aws.close();
      await close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Both kinds of places, or only the file where the emulators are missing. */
export const places = [
  { name: "the local run's file", open: openSqlitePlace },
  { name: "a stage on AWS", open: openAwsPlace },
].slice(0, whyNoDynamoDb === undefined ? 2 : 1);
