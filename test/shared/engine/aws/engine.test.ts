/** The aws engine against the suites that every engine must pass, over real sockets to emulators of its services. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, it } from "@jest/globals";
import { dynamoDbSettings, sqsSettings } from "../../../../lambdas/shared/engine/aws/client.ts";
import { createSqsQueue } from "../../../../lambdas/shared/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "../../../../lambdas/shared/engine/aws/task-store.ts";
import { createVirtualClock } from "../../../conformance/clock.ts";
import { maxReceiveCount, type QueueCase, taskQueueCases } from "../../../conformance/task-queue.ts";
import { taskStoreCases } from "../../../conformance/task-store.ts";
import type { SampleItem, StoreCase } from "../../../conformance/task-store-case.ts";
import { type Emulator, emulatorAccess, startDynamoDbEmulator, whyNoDynamoDb } from "../../../doubles/aws/emulators.ts";
import { createQueuePair, createTaskTable } from "../../../doubles/aws/emulators-resources.ts";
import { patientHandler } from "../../../doubles/aws/patient-handler.ts";
import { startStaleReads } from "../../../doubles/aws/stale-reads.ts";
import { type StillSqs, startStillSqs } from "../../../doubles/aws/still-sqs.ts";

const describeWithDynamoDb = whyNoDynamoDb === undefined ? describe : describe.skip;
const leftOut = whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`;

describeWithDynamoDb(`the DynamoDB task store${leftOut}`, () => {
  let emulator: Emulator;
  /** A read that does not ask to be consistent is not. */
  let rough: Emulator;
  const clients: DynamoDBClient[] = [];
  const newClient = () => {
    const client = new DynamoDBClient({ ...dynamoDbSettings, ...emulatorAccess, endpoint: rough.endpoint });
    clients.push(client);
    return client;
  };
  const parse = (json: unknown) => json as SampleItem;

  beforeAll(async () => {
    emulator = await startDynamoDbEmulator();
    rough = await startStaleReads(emulator);
  });
  afterAll(async () => {
    for (const client of clients) client.destroy();
    await rough.close();
    await emulator.close();
  });

  it.each<StoreCase>(taskStoreCases)("$name", async ({ run }) => {
    const clock = createVirtualClock();
    const table = await createTaskTable({ client: newClient() });
    const open = () =>
      createDynamoTaskStore({ client: newClient(), table, parse, hasPrincipals: true, now: clock.nowMs });
    await run({ store: open(), openAgain: async () => open(), clock });
  });
});

describe("the SQS task queue", () => {
  let sqs: StillSqs;
  const clients: SQSClient[] = [];
  const newClient = () => {
    const client = new SQSClient({
      ...sqsSettings,
      ...emulatorAccess,
      endpoint: sqs.endpoint,
      requestHandler: patientHandler(),
    });
    clients.push(client);
    return client;
  };

  beforeAll(async () => {
    sqs = await startStillSqs();
  });
  afterAll(async () => {
    for (const client of clients) client.destroy();
    await sqs.close();
  });

  it.each<QueueCase>(taskQueueCases)("$name", async ({ run }) => {
    const { queueUrl, deadLettersUrl } = await createQueuePair({ client: newClient(), maxReceiveCount });
    const open = (url: string) => sqs.watch(createSqsQueue({ client: newClient(), queueUrl: url, now: sqs.nowMs }));
    await run({
      queue: open(queueUrl),
      deadLetters: open(deadLettersUrl),
      openAgain: async () => open(queueUrl),
      clock: sqs,
    });
  });
});
