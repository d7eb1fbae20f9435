/** SQS's emulator for one test file, with what a test wants to do and to know. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { CreateQueueCommand, ReceiveMessageCommand, SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";

export async function startSqs() {
  const script = join(__dirname, "children", "sqs.ts");
  const child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "inherit"] });
  const [url] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  const credentials = { accessKeyId: "k", secretAccessKey: "s" };
  const client = new SQSClient({ region: "eu-central-1", endpoint: url, credentials });
  return {
    url,
    async createQueue(name: string): Promise<string> {
      const { QueueUrl = "" } = await client.send(new CreateQueueCommand({ QueueName: name }));
      return QueueUrl;
    },
    async send({ queueUrl, body }: { queueUrl: string; body: string }): Promise<void> {
      await client.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body }));
    },
    /** The bodies of everything that can be received now; hidden from then on. */
    async take(queueUrl: string): Promise<string[]> {
      const { Messages = [] } = await client.send(
        new ReceiveMessageCommand({ QueueUrl: queueUrl, MaxNumberOfMessages: 10 }),
      );
      if (Messages.length === 0) return [];
      return [...Messages.map(({ Body = "" }) => Body), ...(await this.take(queueUrl))];
    },
    async close(): Promise<void> {
      client.destroy();
      child.stdin.end();
      await once(child, "exit");
    },
  };
}
