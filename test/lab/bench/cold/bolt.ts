/** The ingress, written with Bolt and the AWS SDK: check the signature, enqueue, answer. */
import { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { App, AwsLambdaReceiver } from "@slack/bolt";

const sqs = new SQSClient({});
const secrets = new SecretsManagerClient({});
let starting: ReturnType<typeof start> | undefined;

async function start() {
  const secret = await secrets.send(
    new GetSecretValueCommand({ SecretId: process.env.SEKISHO_SIGNING_SECRET }),
  );
  const receiver = new AwsLambdaReceiver({ signingSecret: secret.SecretString ?? "" });
  const app = new App({
    receiver,
    authorize: async () => ({ botId: "B1", botUserId: "U0BOT00001" }),
  });
  app.event("app_mention", async ({ body }) => {
    const message = { QueueUrl: process.env.SEKISHO_QUEUE_URL, MessageBody: JSON.stringify(body) };
    await sqs.send(new SendMessageCommand(message));
  });
  return receiver.start();
}

export async function handler(
  ...invocation: Parameters<Awaited<ReturnType<typeof start>>>
): Promise<unknown> {
  starting ??= start();
  return (await starting)(...invocation);
}
