/** What the emulator does not show of SQS: chains of delays, groups, receipts, and a service that does not answer. */
import { SQSClient } from "@aws-sdk/client-sqs";
import { describe, expect, it } from "@jest/globals";
import { openDynamoDb, openSqs } from "@sekisho/runtime/engine/aws/client.ts";
import {
  createDelayFields,
  escapeSqsText,
  remainingDelayMs,
} from "@sekisho/runtime/engine/aws/sqs-message.ts";
import { createSqsQueue } from "@sekisho/runtime/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import type { TaskItem } from "@sekisho/runtime/engine/ports.ts";
import fc from "fast-check";
import { emulatedAws, emulatorAccess, startSqsEmulator } from "../../../doubles/aws/emulators.ts";
import { createQueuePair } from "../../../doubles/aws/emulators-resources.ts";
import { forAll } from "../../../doubles/for-all.ts";
import { closeAfterTest, serve } from "../../../doubles/serving.ts";

type Call = { operation: string; input: Record<string, unknown> };
const queueUrl = "https://sqs.eu-central-1.amazonaws.com/123456789012/tasks";

const sqsClient = (endpoint: string) => openSqs(emulatedAws(endpoint));

/** SQS as it answers one test: `answer` gives a response's fields. Calls are written down. */
async function startStub({
  answer = () => ({}),
}: {
  answer?: (call: Call) => Record<string, unknown>;
} = {}) {
  const calls: Call[] = [];
  const { url } = await serve(({ request, body }) => {
    const operation = request.headers.get("x-amz-target")?.split(".")[1] ?? "";
    const call = { operation, input: JSON.parse(Buffer.from(body).toString("utf8")) };
    calls.push(call);
    return Response.json(answer(call), {
      headers: { "content-type": "application/x-amz-json-1.0" },
    });
  });
  return { calls, url };
}

/** A message as ReceiveMessage gives it. */
function message({ body, dueAtMs, group }: { body: string; dueAtMs?: number; group?: string }) {
  return {
    MessageId: "1",
    ReceiptHandle: `handle of ${body}`,
    Body: body,
    Attributes: {
      ApproximateReceiveCount: "1",
      SentTimestamp: "1762750300000",
      ...(group && { MessageGroupId: group }),
    },
    ...(dueAtMs && {
      MessageAttributes: { DueAtMs: { DataType: "Number", StringValue: String(dueAtMs) } },
    }),
  };
}

const receiveOnce = { max: 10, visibilityTimeoutMs: 2000, waitMs: 0 };

describe("the SQS task queue", () => {
  it("chains delays to exceed the maximum delay of a real queue", async () => {
    const emulator = closeAfterTest(await startSqsEmulator());
    const admin = new SQSClient({ ...emulatorAccess, endpoint: emulator.endpoint });
    closeAfterTest({ close: () => admin.destroy() });
    const queue = createSqsQueue({
      client: sqsClient(emulator.endpoint),
      queueUrl: (await createQueuePair({ client: admin, maxReceiveCount: 2 })).queueUrl,
      maxDelayMs: 1000,
    });
    const sentAtMs = Date.now();
    await queue.send({ body: "much later", delayMs: 3500 });
    const messages = await queue.receive({ max: 10, visibilityTimeoutMs: 30_000, waitMs: 20_000 });
    expect(messages).toMatchObject([{ body: "much later", receiveCount: 1 }]);
    expect(Date.now()).toBeGreaterThanOrEqual(sentAtMs + 3500);
    expect(await queue.receive(receiveOnce)).toEqual([]);
  });

  it("never asks SQS for a delay of more than 900 seconds", async () => {
    const { calls, url } = await startStub();
    const queue = createSqsQueue({
      client: sqsClient(url),
      queueUrl,
      now: () => 1_762_750_300_000,
    });
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

  it("sends an early message on with its group before it finishes it, and returns a due message", async () => {
    const nowMs = 1_762_750_300_000;
    const early = message({ body: "early", dueAtMs: nowMs + 90_500, group: "T0123" });
    const due = message({ body: "due", dueAtMs: nowMs });
    const { calls, url } = await startStub({
      answer: ({ operation }) => (operation === "ReceiveMessage" ? { Messages: [early, due] } : {}),
    });
    const queue = createSqsQueue({ client: sqsClient(url), queueUrl, now: () => nowMs });
    expect(await queue.receive(receiveOnce)).toMatchObject([
      { body: "due", receiveCount: 1, sentAtMs: nowMs },
    ]);
    expect(calls.slice(1)).toEqual([
      {
        operation: "SendMessage",
        input: {
          QueueUrl: queueUrl,
          MessageBody: "early",
          DelaySeconds: 91,
          MessageGroupId: "T0123",
        },
      },
      {
        operation: "DeleteMessage",
        input: { QueueUrl: queueUrl, ReceiptHandle: "handle of early" },
      },
    ]);
  });

  it("passes a group name that SQS accepts and leaves out any other", async () => {
    const { calls, url } = await startStub();
    const queue = createSqsQueue({ client: sqsClient(url), queueUrl });
    for (const group of ["T0123", "", "team one", "関", "x".repeat(129), "x".repeat(128)]) {
      await queue.send({ body: "{}", group });
    }
    const none = undefined;
    expect(calls.map(({ input }) => input.MessageGroupId)).toEqual([
      "T0123",
      none,
      none,
      none,
      none,
      "x".repeat(128),
    ]);
  });

  it("asks SQS for at most 10 messages and 20 seconds at a time", async () => {
    const stop = new AbortController();
    const { calls, url } = await startStub({
      answer: ({ input }) => {
        if (calls.length === 2) stop.abort();
        return { Messages: [], input };
      },
    });
    const queue = createSqsQueue({ client: sqsClient(url), queueUrl });
    const { signal } = stop;
    expect(
      await queue.receive({ max: 50, visibilityTimeoutMs: 1500, waitMs: 60_000, signal }),
    ).toEqual([]);
    expect(calls).toHaveLength(2);
    for (const { input } of calls) {
      expect(input).toMatchObject({
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: 20,
        VisibilityTimeout: 2,
      });
    }
  });

  it("does not call SQS to finish an expired or malformed receipt", async () => {
    let nowMs = 1_762_750_300_000;
    const { calls, url } = await startStub({
      answer: ({ operation }) =>
        operation === "ReceiveMessage" ? { Messages: [message({ body: "mine" })] } : {},
    });
    const queue = createSqsQueue({ client: sqsClient(url), queueUrl, now: () => nowMs });
    const [requests] = await queue.receive(receiveOnce);
    const receipt = requests?.receipt ?? "";
    for (const none of ["", "handle of mine", "1.", `x${receipt}`]) {
      expect(await queue.finish({ receipt: none })).toBe(false);
    }
    nowMs += 1999;
    expect(await queue.finish({ receipt })).toBe(true);
    nowMs += 1;
    expect(await queue.finish({ receipt })).toBe(false);
    expect(calls.slice(1)).toEqual([
      {
        operation: "DeleteMessage",
        input: { QueueUrl: queueUrl, ReceiptHandle: "handle of mine" },
      },
    ]);
  });
});

describe("a service that never answers, or that starts an answer and never ends it", () => {
  it("ends every call of the engine with an error if the service never completes its answer", async () => {
    const nothing = () => new Promise<never>(() => {});
    const silences = [nothing, async () => new Response(new ReadableStream({ pull: nothing }))];
    const results = await Promise.all(silences.map(callsToSilence));
    for (const statuses of results) expect(statuses).toEqual(Array(7).fill("rejected"));
  });

  async function callsToSilence(handle: () => Promise<Response>): Promise<string[]> {
    const { url } = await serve(handle);
    const store = createDynamoTaskStore({
      client: openDynamoDb(emulatedAws(url)),
      table: "tasks",
      parse: (json) => json as TaskItem,
    });
    const queue = createSqsQueue({ client: sqsClient(url), queueUrl });
    const item = { id: "a", revision: 1, state: "new", expiresAtMs: 4_000_000_000_000 };
    const outcomes = await Promise.allSettled([
      store.get({ id: "a" }),
      store.create({ item }),
      store.replace({ item }),
      store.list({ index: "state", key: "new", limit: 1 }),
      queue.send({ body: "{}" }),
      queue.receive(receiveOnce),
      queue.finish({ receipt: "9999999999999.handle" }),
    ]);
    return outcomes.map(({ status }) => status);
  }
});

const dayMs = 24 * 3600_000;

describe("a delay", () => {
  it("adds no delay fields to a message without a delay", () => {
    for (const delayMs of [0, -1]) expect(createDelayFields({ delayMs, nowMs: 0 })).toEqual({});
    for (const attributes of [undefined, {}])
      expect(remainingDelayMs({ attributes, nowMs: 0 })).toBe(0);
  });

  it("reads the delay from a message of the SDK and from a Lambda event", () => {
    const nowMs = 1_762_750_300_000;
    const text = String(nowMs + 1500);
    expect(remainingDelayMs({ attributes: { DueAtMs: { StringValue: text } }, nowMs })).toBe(1500);
    expect(remainingDelayMs({ attributes: { DueAtMs: { stringValue: text } }, nowMs })).toBe(1500);
    expect(
      remainingDelayMs({ attributes: { DueAtMs: { stringValue: text } }, nowMs: nowMs + 1500 }),
    ).toBe(0);
  });

  it("treats a delay that is not a number as over, so that the message is handled", () => {
    for (const stringValue of ["", "soon", "Infinity", "NaN"]) {
      expect(remainingDelayMs({ attributes: { DueAtMs: { stringValue } }, nowMs: 0 })).toBe(0);
    }
  });

  it("splits a delay of any length into steps that SQS accepts, and ends it at most a second late", () => {
    const delays = fc.oneof(
      fc.integer({ min: 1, max: 3 * 900_000 }),
      fc.double({ min: 0.1, max: 30 * dayMs, noNaN: true }),
    );
    const starts = fc.integer({ min: 1_600_000_000_000, max: 2_000_000_000_000 });
    forAll(delays, starts).hold((delayMs, startMs) => {
      let nowMs = startMs;
      let leftMs = delayMs;
      let hops = 0;
      for (; leftMs > 0; hops += 1) {
        const { DelaySeconds = 0, MessageAttributes: attributes } = createDelayFields({
          delayMs: leftMs,
          nowMs,
        });
        expect(Number.isInteger(DelaySeconds) && DelaySeconds >= 1 && DelaySeconds <= 900).toBe(
          true,
        );
        nowMs += DelaySeconds * 1000;
        leftMs = remainingDelayMs({ attributes, nowMs });
      }
      expect(nowMs).toBeGreaterThanOrEqual(startMs + Math.floor(delayMs));
      expect(nowMs).toBeLessThanOrEqual(startMs + delayMs + 1001);
      expect(hops).toBeLessThanOrEqual(Math.ceil(delayMs / 900_000) + 1);
    });
  });
});

describe("the text that SQS accepts", () => {
  /** XML 1.0, section 2.2. */
  const isTaken = (code: number) =>
    [0x9, 0xa, 0xd].includes(code) ||
    (code >= 0x20 && code <= 0xd7ff) ||
    (code >= 0xe000 && code <= 0xfffd) ||
    code >= 0x10000;
  /** Any UTF-16, lone surrogates and noncharacters included. */
  const texts = fc
    .array(
      fc.oneof(
        fc.integer({ min: 0, max: 0xffff }),
        fc.constantFrom(0, 0xd83c, 0xdff3, 0xfffe, 0xffff),
      ),
    )
    .map((units) => String.fromCharCode(...units));

  it("escapes any text so that SQS accepts it and the JSON means the same", () => {
    forAll(texts).hold((text) => {
      const sending = escapeSqsText(JSON.stringify({ text }));
      expect(JSON.parse(sending)).toEqual({ text });
      expect([...sending].every((character) => isTaken(character.codePointAt(0) ?? 0))).toBe(true);
    });
  });

  it("leaves a text unchanged if SQS accepts all of it", () => {
    for (const text of ['{"text":"関所 🏯\t\r\n"}', "", "\u{10ffff}\ue000\ufffd\ud7ff"])
      expect(escapeSqsText(text)).toBe(text);
  });
});
