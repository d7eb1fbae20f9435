/** Both emulators, each with a client. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { emulatorAccess, startDynamoDbEmulator, startSqsEmulator } from "./emulators.ts";

export type OpenEmulators = Awaited<ReturnType<typeof openEmulators>>;

export async function openEmulators() {
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
