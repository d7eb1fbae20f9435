/** The events of an HTTP API as requests of the ingress. */

import { ReceiveMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { createHttpApiHandler, createSendToQueue } from "@sekisho/verification/ingress/http-api.ts";
import type { IngressRequest } from "@sekisho/verification/ingress/ingress.ts";
import { type Emulator, emulatorAccess, startSqsEmulator } from "../../doubles/aws/emulators.ts";
import { createQueuePair } from "../../doubles/aws/emulators-resources.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { setUp } from "./setup.ts";
import { bytesOf, createSignedRequest, fixture } from "./slack-request.ts";

const mention = fixture("app-mention");

/** The event that API Gateway makes of a request, as its documentation shows one; headers come with lower-case names. */
function httpApiEvent({ headers, body }: IngressRequest, changes: Record<string, unknown> = {}) {
  return {
    version: "2.0",
    routeKey: "POST /slack/events",
    rawPath: "/slack/events",
    rawQueryString: "",
    headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])),
    requestContext: {
      accountId: "123456789012",
      apiId: "api-id",
      domainName: "api-id.execute-api.eu-central-1.amazonaws.com",
      http: {
        method: "POST",
        path: "/slack/events",
        protocol: "HTTP/1.1",
        sourceIp: "192.0.2.1",
        userAgent: "Slackbot",
      },
      requestId: "id",
      routeKey: "POST /slack/events",
      stage: "$default",
      time: "10/Nov/2025:03:31:40 +0000",
      timeEpoch: 1_762_750_300_000,
    },
    body: Buffer.from(body).toString("utf8"),
    isBase64Encoded: false,
    ...changes,
  };
}

function handlerWithAsks() {
  const { ingress, asks } = setUp();
  return { handle: createHttpApiHandler({ ingress }), asks };
}

describe("an event of an HTTP API", () => {
  it("verifies, enqueues and answers an event of an HTTP API", async () => {
    const { handle, asks } = handlerWithAsks();
    expect(
      await handle(httpApiEvent(createSignedRequest({ body: bytesOf(mention) }))),
    ).toMatchObject({
      statusCode: 200,
      body: "",
    });
    expect(asks).toHaveLength(1);
  });

  it("enqueues a message in the group of the workspace of the bot", async () => {
    const groups: unknown[] = [];
    const { ingress } = setUp({ send: async ({ group }) => void groups.push(group) });
    await createHttpApiHandler({ ingress })(
      httpApiEvent(createSignedRequest({ body: bytesOf(mention) })),
    );
    expect(groups).toStrictEqual([mention.team_id]);
  });

  it("answers a challenge", async () => {
    const { handle } = handlerWithAsks();
    const body = bytesOf({ type: "url_verification", challenge: "3eZbrw1aB" });
    expect(await handle(httpApiEvent(createSignedRequest({ body })))).toMatchObject({
      statusCode: 200,
      body: "3eZbrw1aB",
    });
  });

  it("verifies the decoded bytes of a base64 body, whatever its alphabet", async () => {
    const { handle, asks } = handlerWithAsks();
    const event = { ...mention.event, text: "<@U0BOT00001> 関所とは何ですか 🏯" };
    const request = createSignedRequest({ body: bytesOf({ ...mention, event }) });
    const body = Buffer.from(request.body).toString("base64");
    expect(await handle(httpApiEvent(request, { body, isBase64Encoded: true }))).toMatchObject({
      statusCode: 200,
    });
    expect(asks[0]?.message.text).toBe("関所とは何ですか 🏯");
  });

  it("refuses a doubled header, which API Gateway joins with a comma", async () => {
    const request = createSignedRequest({ body: bytesOf(mention) });
    for (const headerName of ["x-slack-signature", "x-slack-request-timestamp"]) {
      const { handle, asks } = handlerWithAsks();
      const event = httpApiEvent(request);
      const value = event.headers[headerName];
      const headers = { ...event.headers, [headerName]: `${value},${value}` };
      expect(await handle({ ...event, headers })).toMatchObject({ statusCode: 401 });
      expect(asks).toEqual([]);
    }
  });

  it("refuses an event without a signature, headers or a body", async () => {
    const { handle } = handlerWithAsks();
    const event = httpApiEvent(createSignedRequest({ body: bytesOf(mention) }));
    expect(await handle({ ...event, headers: {} })).toMatchObject({ statusCode: 401 });
    expect(await handle({ ...event, headers: undefined })).toMatchObject({ statusCode: 401 });
    expect(await handle({ ...event, body: undefined })).toMatchObject({ statusCode: 401 });
    expect(
      await handle({ ...event, body: Buffer.from("!").toString("base64"), isBase64Encoded: true }),
    ).toMatchObject({
      statusCode: 401,
    });
  });

  it("answers 404 to any other method or path", async () => {
    const { handle, asks } = handlerWithAsks();
    const event = httpApiEvent(createSignedRequest({ body: bytesOf(mention) }));
    const { requestContext } = event;
    const get = { ...requestContext, http: { ...requestContext.http, method: "GET" } };
    for (const other of [
      { ...event, rawPath: "/" },
      { ...event, requestContext: get },
      {},
      undefined,
      "text",
    ]) {
      expect(await handle(other)).toMatchObject({ statusCode: 404 });
    }
    expect(asks).toEqual([]);
  });
});

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

it("delivers a whole message through SQS, also with characters that SQS refuses", async () => {
  const { queueUrl } = await createQueuePair({ client, maxReceiveCount: 3 });
  const text = "関所 🏯 \uffff \ufffe and half a pair \ud83c";
  await sender(queueUrl).send({ body: JSON.stringify({ text }), group: "T1" });
  const { Messages = [] } = await client.send(new ReceiveMessageCommand({ QueueUrl: queueUrl }));
  expect(Messages.map(({ Body = "" }) => JSON.parse(Body))).toEqual([{ text }]);
  expect(Messages[0]?.Body).not.toMatch(/[\ufffe\uffff]/);
});

it("sends a message with the group of its workspace", async () => {
  const inputs: unknown[] = [];
  const server = await startWebServer({
    handle: async ({ body }) => {
      inputs.push(JSON.parse(Buffer.from(body).toString()));
      return Response.json({ MessageId: "m-1" });
    },
  });
  await sender("https://sqs.example/1/tasks", server.url).send({ body: "{}", group: "T1" });
  await server.close();
  expect(inputs).toEqual([
    { QueueUrl: "https://sqs.example/1/tasks", MessageBody: "{}", MessageGroupId: "T1" },
  ]);
});

it("throws if the queue does not exist, so that Slack delivers again", async () => {
  const queueUrl = `${emulator.endpoint}/000000000000/nowhere`;
  await expect(sender(queueUrl).send({ body: "{}" })).rejects.toThrow();
});
