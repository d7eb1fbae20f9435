/** The ingress's own call of SQS, against an emulated queue over a real socket. */
import { ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, expect, it } from "@jest/globals";
import { createSendToQueue } from "../../../lambdas/verification/ingress/http-api.ts";
import { type Emulator, emulatorAccess, startSqsEmulator } from "../../doubles/aws/emulators.ts";
import { createQueuePair } from "../../doubles/aws/emulators-resources.ts";
import { startWebServer } from "../../doubles/web-server.ts";

let emulator: Emulator;
let client: SQSClient;
beforeAll(async () => {
  emulator = await startSqsEmulator();
  client = new SQSClient({ ...emulatorAccess, endpoint: emulator.endpoint });
});
afterAll(async () => {
  client.destroy();
  await emulator.close();
});

function sender(queueUrl: string, endpoint = emulator.endpoint) {
  const { region, credentials } = emulatorAccess;
  const endpointOf = () => new URL(endpoint);
  return createSendToQueue({ region, credentials: async () => credentials, endpointOf, queueUrl });
}

it("a message comes whole, also with characters that SQS would refuse", async () => {
  const { queueUrl } = await createQueuePair({ client, maxReceiveCount: 3 });
  const text = "関所 🏯 \uffff \ufffe and half a pair \ud83c";
  await sender(queueUrl).send({ body: JSON.stringify({ text }), group: "T1" });
  const { Messages = [] } = await client.send(new ReceiveMessageCommand({ QueueUrl: queueUrl }));
  expect(Messages.map(({ Body = "" }) => JSON.parse(Body))).toEqual([{ text }]);
  expect(Messages[0]?.Body).not.toMatch(/[\ufffe\uffff]/);
});

it("a message is sent in its workspace's turn (which the emulator does not give back)", async () => {
  const inputs: unknown[] = [];
  const server = await startWebServer({
    handle: async ({ body }) => {
      inputs.push(JSON.parse(Buffer.from(body).toString()));
      return Response.json({ MessageId: "m-1" });
    },
  });
  await sender("https://sqs.example/1/tasks", server.url).send({ body: "{}", group: "T1" });
  await server.close();
  expect(inputs).toEqual([{ QueueUrl: "https://sqs.example/1/tasks", MessageBody: "{}", MessageGroupId: "T1" }]);
});

it("a queue that is not there is an error, so that Slack delivers again", async () => {
  const queueUrl = `${emulator.endpoint}/000000000000/nowhere`;
  await expect(sender(queueUrl).send({ body: "{}" })).rejects.toThrow();
});
