/** What the emulator does not show of SQS: chains of delays, groups, receipts, and a service that does not answer. */
import { createHash } from "node:crypto";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { SQSClient } from "@aws-sdk/client-sqs";
import { afterEach, describe, expect, it } from "@jest/globals";
import { dynamoDbSettings, sqsSettings } from "../../../lambdas/shared/engine/aws/client.ts";
import { createSqsQueue } from "../../../lambdas/shared/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "../../../lambdas/shared/engine/aws/task-store.ts";
import type { TaskItem } from "../../../lambdas/shared/engine/ports.ts";
import { emulatorAccess, startSqsEmulator } from "../../doubles/aws/emulators.ts";
import { createQueuePair } from "../../doubles/aws/emulators-resources.ts";
import { startWebServer } from "../../doubles/web-server.ts";

type Call = { operation: string; input: Record<string, unknown> };

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const queueUrl = "https://sqs.eu-central-1.amazonaws.com/123456789012/tasks";

function sqsClient(endpoint: string): SQSClient {
  const client = new SQSClient({ ...sqsSettings, ...emulatorAccess, endpoint });
  closing.push(() => client.destroy());
  return client;
}

/** SQS as it answers one test: `answer` gives a response's fields. Calls are written down. */
async function startStub({ answer = () => ({}) }: { answer?: (call: Call) => Record<string, unknown> } = {}) {
  const calls: Call[] = [];
  const server = await startWebServer({
    async handle({ request, body }) {
      const operation = request.headers.get("x-amz-target")?.split(".")[1] ?? "";
      const call = { operation, input: JSON.parse(Buffer.from(body).toString("utf8")) };
      calls.push(call);
      const checksum = operation === "SendMessage" ? { MD5OfMessageBody: md5(String(call.input.MessageBody)) } : {};
      return Response.json(
        { ...checksum, ...answer(call) },
        { headers: { "content-type": "application/x-amz-json-1.0" } },
      );
    },
  });
  closing.push(server.close);
  return { calls, url: server.url };
}

function md5(text: string): string {
  return createHash("md5").update(text).digest("hex");
}

/** A message as ReceiveMessage gives it. */
function message({ body, dueAtMs, group }: { body: string; dueAtMs?: number; group?: string }) {
  return {
    MessageId: "1",
    ReceiptHandle: `handle of ${body}`,
    Body: body,
    MD5OfBody: md5(body),
    Attributes: {
      ApproximateReceiveCount: "1",
      SentTimestamp: "1762750300000",
      ...(group && { MessageGroupId: group }),
    },
    ...(dueAtMs && { MessageAttributes: { DueAtMs: { DataType: "Number", StringValue: String(dueAtMs) } } }),
  };
}

const receiveOnce = { max: 10, visibilityTimeoutMs: 2000, waitMs: 0 };

describe("the SQS task queue", () => {
  it("chains a delay that is longer than the queue knows, over a real queue", async () => {
    const emulator = await startSqsEmulator();
    closing.push(emulator.close);
    const client = sqsClient(emulator.endpoint);
    const queue = createSqsQueue({
      client,
      queueUrl: (await createQueuePair({ client, maxReceiveCount: 2 })).queueUrl,
      maxDelayMs: 1000,
    });
    const sentAtMs = Date.now();
    await queue.send({ body: "much later", delayMs: 3500 });
    const messages = await queue.receive({ max: 10, visibilityTimeoutMs: 30_000, waitMs: 20_000 });
    expect(messages).toMatchObject([{ body: "much later", receiveCount: 1 }]);
    expect(Date.now()).toBeGreaterThanOrEqual(sentAtMs + 3500);
    expect(await queue.receive(receiveOnce)).toEqual([]);
  });

  it("never asks SQS for more than 900 seconds", async () => {
    const { calls, url } = await startStub();
    const queue = createSqsQueue({ client: sqsClient(url), queueUrl, now: () => 1_762_750_300_000 });
    await queue.send({ body: "{}", delayMs: 3600_000 });
    await queue.send({ body: "{}", delayMs: 900_000 });
    await queue.send({ body: "{}" });
    const due = { DueAtMs: { DataType: "Number", StringValue: "1762753900000" } };
    expect(calls.map(({ input }) => input)).toEqual([
      { QueueUrl: queueUrl, MessageBody: "{}", DelaySeconds: 900, MessageAttributes: due },
      { QueueUrl: queueUrl, MessageBody: "{}", DelaySeconds: 900 },
      { QueueUrl: queueUrl, MessageBody: "{}" },
    ]);
  });

  it("sends on what came before its time, with its group, and only then finishes it; what is due it gives", async () => {
    const nowMs = 1_762_750_300_000;
    const early = message({ body: "early", dueAtMs: nowMs + 90_500, group: "T0123" });
    const due = message({ body: "due", dueAtMs: nowMs });
    const { calls, url } = await startStub({
      answer: ({ operation }) => (operation === "ReceiveMessage" ? { Messages: [early, due] } : {}),
    });
    const queue = createSqsQueue({ client: sqsClient(url), queueUrl, now: () => nowMs });
    expect(await queue.receive(receiveOnce)).toMatchObject([{ body: "due", receiveCount: 1, sentAtMs: nowMs }]);
    expect(calls.slice(1)).toEqual([
      {
        operation: "SendMessage",
        input: { QueueUrl: queueUrl, MessageBody: "early", DelaySeconds: 91, MessageGroupId: "T0123" },
      },
      { operation: "DeleteMessage", input: { QueueUrl: queueUrl, ReceiptHandle: "handle of early" } },
    ]);
  });

  it("names the group where SQS takes the name, and sends without one where it does not", async () => {
    const { calls, url } = await startStub();
    const queue = createSqsQueue({ client: sqsClient(url), queueUrl });
    for (const group of ["T0123", "", "team one", "関", "x".repeat(129), "x".repeat(128)]) {
      await queue.send({ body: "{}", group });
    }
    const none = undefined;
    expect(calls.map(({ input }) => input.MessageGroupId)).toEqual(["T0123", none, none, none, none, "x".repeat(128)]);
  });

  it("asks SQS for no more messages, and to wait no longer, than SQS does", async () => {
    const stop = new AbortController();
    const { calls, url } = await startStub({
      answer: ({ input }) => {
        if (calls.length === 2) stop.abort();
        return { Messages: [], input };
      },
    });
    const queue = createSqsQueue({ client: sqsClient(url), queueUrl });
    const { signal } = stop;
    expect(await queue.receive({ max: 50, visibilityTimeoutMs: 1500, waitMs: 60_000, signal })).toEqual([]);
    expect(calls).toHaveLength(2);
    for (const { input } of calls) {
      expect(input).toMatchObject({ MaxNumberOfMessages: 10, WaitTimeSeconds: 20, VisibilityTimeout: 2 });
    }
  });

  it("does not ask SQS to finish with a receipt that is void, or that is none", async () => {
    let nowMs = 1_762_750_300_000;
    const { calls, url } = await startStub({
      answer: ({ operation }) => (operation === "ReceiveMessage" ? { Messages: [message({ body: "mine" })] } : {}),
    });
    const queue = createSqsQueue({ client: sqsClient(url), queueUrl, now: () => nowMs });
    const [received] = await queue.receive(receiveOnce);
    const receipt = received?.receipt ?? "";
    for (const none of ["", "handle of mine", "1.", `x${receipt}`]) {
      expect(await queue.finish({ receipt: none })).toBe(false);
    }
    nowMs += 1999;
    expect(await queue.finish({ receipt })).toBe(true);
    nowMs += 1;
    expect(await queue.finish({ receipt })).toBe(false);
    expect(calls.slice(1)).toEqual([
      { operation: "DeleteMessage", input: { QueueUrl: queueUrl, ReceiptHandle: "handle of mine" } },
    ]);
  });
});

describe("a service that never answers, or that starts an answer and never ends it", () => {
  it("ends every call of the engine with an error", async () => {
    const nothing = () => new Promise<never>(() => {});
    const silences = [nothing, async () => new Response(new ReadableStream({ pull: nothing }))];
    const results = await Promise.all(silences.map(callsToSilence));
    for (const statuses of results) expect(statuses).toEqual(Array(7).fill("rejected"));
  });

  async function callsToSilence(handle: () => Promise<Response>): Promise<string[]> {
    const server = await startWebServer({ handle });
    closing.push(server.close);
    const tables = new DynamoDBClient({ ...dynamoDbSettings, ...emulatorAccess, endpoint: server.url });
    closing.push(() => tables.destroy());
    const store = createDynamoTaskStore({ client: tables, table: "tasks", parse: (json) => json as TaskItem });
    const queue = createSqsQueue({ client: sqsClient(server.url), queueUrl });
    const item = { id: "a", revision: 1, state: "new", expiresAtMs: 4_000_000_000_000 };
    const settled = await Promise.allSettled([
      store.get({ id: "a" }),
      store.create({ item }),
      store.replace({ item }),
      store.list({ index: "state", key: "new", limit: 1 }),
      queue.send({ body: "{}" }),
      queue.receive(receiveOnce),
      queue.finish({ receipt: "9999999999999.handle" }),
    ]);
    return settled.map(({ status }) => status);
  }
});
