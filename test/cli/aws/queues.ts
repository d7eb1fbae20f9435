/** SQS for one test file. */
import {
  CreateQueueCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";
import { emulatorAccess, startSqsEmulator } from "../../doubles/aws/emulators.ts";

export async function startSqs() {
  const { endpoint, close } = await startSqsEmulator();
  const client = new SQSClient({ ...emulatorAccess, endpoint });
  return {
    url: endpoint,
    async createQueue(name: string): Promise<string> {
      const { QueueUrl = "" } = await client.send(new CreateQueueCommand({ QueueName: name }));
      return QueueUrl;
    },
    async send({ queueUrl, body }: { queueUrl: string; body: string }): Promise<void> {
      await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body }));
    },
    /** Receives everything that is visible now, and returns the bodies. */
    async take(queueUrl: string): Promise<string[]> {
      const { Messages = [] } = await client.send(
        new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10 }),
      );
      if (Messages.length === 0) return [];
      return [...Messages.map(({ Body = "" }) => Body), ...(await this.take(queueUrl))];
    },
    async close(): Promise<void> {
      client.destroy();
      await close();
    },
  };
}
