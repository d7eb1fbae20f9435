/** The aws engine against the suites that every engine must pass, over real sockets to emulators of its services. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, it } from "@jest/globals";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import { type DynamoDb, openDynamoDb, type Sqs } from "@sekisho/runtime/engine/aws/client.ts";
import { createSqsQueue } from "@sekisho/runtime/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import { openSdkDynamoDb, openSdkSqs } from "@sekisho/sekisho/aws/sdk-clients.ts";
import { toStateBucket } from "@sekisho/verification/task/buckets.ts";
import {
  type Emulator,
  emulatedAws,
  emulatorAccess,
  startDynamoDbEmulator,
  whyNoDynamoDb,
} from "../../../doubles/aws/emulators.ts";
import { createQueuePair, createTaskTable } from "../../../doubles/aws/emulators-resources.ts";
import { patientHandler } from "../../../doubles/aws/patient-handler.ts";
import { startStaleReads } from "../../../doubles/aws/stale-reads.ts";
import { type StillSqs, startStillSqs } from "../../../doubles/aws/still-sqs.ts";
import { createVirtualClock } from "../../../tables/clock.ts";
import { maxReceiveCount, type QueueCase, taskQueueCases } from "../../../tables/task-queue.ts";
import { taskStoreCases } from "../../../tables/task-store.ts";
import type { SampleItem, StoreCase } from "../../../tables/task-store-case.ts";

const describeWithDynamoDb = whyNoDynamoDb === undefined ? describe : describe.skip;
const leftOut = whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`;

const stores: [who: string, open: (endpoint: string) => DynamoDb & { destroy?(): void }][] = [
  ["the client of the functions", (endpoint) => openDynamoDb(emulatedAws(endpoint))],
  [
    "the SDK's client of the commands",
    (endpoint) => openSdkDynamoDb({ ...emulatorAccess, endpoint }),
  ],
];

/** On a busy machine the emulator may answer late, and a retry would put a message in the queue twice. */
const patience = { timeoutMs: 120_000, attemptTimeoutMs: 60_000 };
const queues: [who: string, open: (endpoint: string) => Sqs & { destroy?(): void }][] = [
  [
    "the client of the functions",
    (endpoint) => createJsonClient({ ...emulatedAws(endpoint), ...patience, service: "sqs" }),
  ],
  [
    "the SDK's client of the commands",
    (endpoint) => openSdkSqs({ ...emulatorAccess, endpoint, requestHandler: patientHandler() }),
  ],
];

describeWithDynamoDb.each(stores)(
  `the DynamoDB task store${leftOut}, by %s`,
  (_who, openClient) => {
    let emulator: Emulator;
    /** A read that does not ask to be consistent is not. */
    let rough: Emulator;
    let admin: DynamoDBClient;
    const clients: { destroy?(): void }[] = [];
    const parse = (json: unknown) => json as SampleItem;

    beforeAll(async () => {
      emulator = await startDynamoDbEmulator();
      rough = await startStaleReads(emulator);
      admin = new DynamoDBClient({ ...emulatorAccess, endpoint: rough.endpoint });
    });
    afterAll(async () => {
      for (const client of [admin, ...clients]) client.destroy?.();
      await rough.close();
      await emulator.close();
    });

    it.each<StoreCase>(taskStoreCases)("$name", async ({ run }) => {
      const clock = createVirtualClock();
      const table = await createTaskTable({ client: admin });
      const open = () => {
        const client = openClient(rough.endpoint);
        clients.push(client);
        return createDynamoTaskStore({
          client,
          table,
          parse,
          hasPrincipals: true,
          bucketOf: toStateBucket,
          now: clock.nowMs,
        });
      };
      await run({ store: open(), openAgain: async () => open(), clock });
    });
  },
);

describe.each(queues)("the SQS task queue, by %s", (_who, openClient) => {
  let sqs: StillSqs;
  let admin: SQSClient;
  const clients: { destroy?(): void }[] = [];

  beforeAll(async () => {
    sqs = await startStillSqs();
    admin = new SQSClient({ ...emulatorAccess, endpoint: sqs.endpoint });
  });
  afterAll(async () => {
    for (const client of [admin, ...clients]) client.destroy?.();
    await sqs.close();
  });

  it.each<QueueCase>(taskQueueCases)("$name", async ({ run }) => {
    const { queueUrl, deadLettersUrl } = await createQueuePair({ client: admin, maxReceiveCount });
    const open = (url: string) => {
      const client = openClient(sqs.endpoint);
      clients.push(client);
      return sqs.watch(createSqsQueue({ client, queueUrl: url, now: sqs.nowMs }));
    };
    await run({
      queue: open(queueUrl),
      deadLetters: open(deadLettersUrl),
      openAgain: async () => open(queueUrl),
      clock: sqs,
    });
  });
});
