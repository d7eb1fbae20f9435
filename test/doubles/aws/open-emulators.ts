/** Both emulators, each with a client: what a test of something that keeps tasks on AWS starts from. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { type Emulator, emulatorAccess, startDynamoDbEmulator, startSqsEmulator } from "./emulators.ts";

export type OpenEmulators = {
  emulators: { dynamo: Emulator; queues: Emulator };
  clients: { dynamo: DynamoDBClient; queues: SQSClient };
  close(): Promise<void>;
};

export async function openEmulators(): Promise<OpenEmulators> {
  const [dynamo, queues] = await Promise.all([startDynamoDbEmulator(), startSqsEmulator()]);
  const clients = {
    dynamo: new DynamoDBClient({ ...emulatorAccess, endpoint: dynamo.endpoint }),
    queues: new SQSClient({ ...emulatorAccess, endpoint: queues.endpoint }),
  };
  return {
    emulators: { dynamo, queues },
    clients,
    async close() {
      clients.dynamo.destroy();
      clients.queues.destroy();
      await Promise.all([dynamo.close(), queues.close()]);
    },
  };
}
