/** What our client does with failures, beside the SDK's: which ones it repeats, how often, and what it says in the end. */
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { createSts } from "@sekisho/runtime/aws/sts.ts";
import { openDynamoDb, openSqs } from "@sekisho/runtime/engine/aws/client.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { openSdkDynamoDb, openSdkSqs } from "@sekisho/sekisho/aws/sdk-clients.ts";
import { serve } from "../../doubles/serving.ts";
import { connectionReset, type Received } from "../../doubles/web-server.ts";
import { hangSignal } from "../../tooling/hang.ts";

const region = "eu-central-1";
const credentials = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "an-aws-secret" };
const getParams = { TableName: "tasks", Key: { id: { S: "a" } } };

type Answer = (call: Received) => Response | Promise<Response>;
type Caller = () => Promise<unknown>;

function ownAws(url: string): AwsDependencies {
  return { region, credentials: async () => credentials, endpointOf: () => new URL(url) };
}

const clients = {
  dynamodb: {
    ours(url: string): Caller {
      const client = openDynamoDb(ownAws(url));
      return () => client.call("GetItem", getParams);
    },
    sdk(endpoint: string): Caller {
      const client = openSdkDynamoDb({ region, credentials, endpoint });
      return () => client.call("GetItem", getParams);
    },
  },
  sqs: {
    ours(url: string): Caller {
      const client = openSqs(ownAws(url));
      return () => client.call("DeleteMessage", { QueueUrl: "q", ReceiptHandle: "r" });
    },
    sdk(endpoint: string): Caller {
      const client = openSdkSqs({ region, credentials, endpoint });
      return () => client.call("DeleteMessage", { QueueUrl: "q", ReceiptHandle: "r" });
    },
  },
};

/** No pauses between attempts. */
beforeEach(() => {
  jest.spyOn(Math, "random").mockReturnValue(0);
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** The results of some calls one after the other, and how many requests arrived by then. */
async function follow(open: (url: string) => Caller, answers: readonly Answer[], calls = 1) {
  const answersToGive = [...answers];
  const { url, received: requests } = await serve((each) =>
    (answersToGive.shift() ?? (() => Response.json({})))(each),
  );
  const call = open(url);
  const results: [string, number][] = [];
  for (let count = 0; count < calls; count += 1) {
    const result = await call().then(() => "success", kindOf);
    results.push([result, requests.length]);
  }
  return results;
}

/** The SDK calls a page instead of JSON by the name of JavaScript's error. */
function kindOf(error: unknown): string {
  const kind = errorKind(error);
  return kind === "SyntaxError" ? "NoJsonAnswer" : kind;
}

async function expectSame(
  answers: readonly Answer[],
  { calls = 1, service = "dynamodb" }: { calls?: number; service?: keyof typeof clients } = {},
) {
  const { ours, sdk } = clients[service];
  const expectedResult = await follow(sdk, answers, calls);
  expect(await follow(ours, answers, calls)).toEqual(expectedResult);
  return expectedResult;
}

const refusal =
  (name: string, status = 400, headers = {}) =>
  () =>
    Response.json(
      { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: "a text" },
      { status, headers },
    );
const page = (status: number) => () => new Response("<html>", { status });
const reset = () => Promise.reject(connectionReset);
const brokenBody = () =>
  new Response(
    new ReadableStream({
      async pull(controller) {
        controller.enqueue(Buffer.from('{"Item'));
        await new Promise((resolve) => setTimeout(resolve, 20));
        controller.error(connectionReset);
      },
    }),
  );

const names = [
  ...[
    "BandwidthLimitExceeded",
    "EC2ThrottledException",
    "LimitExceededException",
    "PriorRequestNotComplete",
  ],
  ...["ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestThrottled"],
  ...[
    "RequestThrottledException",
    "SlowDown",
    "ThrottledException",
    "Throttling",
    "ThrottlingException",
  ],
  ...[
    "TooManyRequestsException",
    "TransactionInProgressException",
    "RequestTimeout",
    "RequestTimeoutException",
  ],
  ...[
    "ReplicatedWriteConflictException",
    "ConditionalCheckFailedException",
    "TransactionCanceledException",
  ],
  ...[
    "ValidationException",
    "ResourceNotFoundException",
    "AccessDeniedException",
    "ExpiredTokenException",
  ],
  ...[
    "UnrecognizedClientException",
    "InternalServerError",
    "ItemCollectionSizeLimitExceededException",
    "Unheard",
  ],
];

describe("the retry of a failure", () => {
  it.each(names)("retries an error named %s exactly as the SDK does", async (name) => {
    await expectSame([refusal(name)]);
  });

  it.each([400, 401, 403, 404, 408, 413, 421, 429, 500, 501, 502, 503, 504, 505])(
    "retries the status %i exactly as the SDK does",
    async (status) => {
      await expectSame([refusal("Unheard", status)]);
      const results = await expectSame([page(status), page(status), page(status)]);
      expect(results[0]?.[1]).toBe([429, 500, 502, 503, 504].includes(status) ? 3 : 1);
    },
  );

  it("retries a connection that broke before or in the middle of an answer", async () => {
    expect(await expectSame([reset, reset])).toEqual([["success", 3]]);
    const [[, requests] = []] = await follow(clients.dynamodb.sdk, [reset, reset, reset]);
    expect(await follow(clients.dynamodb.ours, [reset, reset, reset])).toEqual([
      ["ECONNRESET", requests],
    ]);
    expect(await expectSame([brokenBody])).toEqual([["success", 2]]);
  });

  it("makes at most three attempts and throws the last failure", async () => {
    const twice = [refusal("ThrottlingException"), page(502)];
    expect(await expectSame([...twice, refusal("ValidationException")])).toEqual([
      ["ValidationException", 3],
    ]);
    expect(await expectSame([...twice, refusal("SlowDown"), refusal("Unheard")])).toEqual([
      ["SlowDown", 3],
    ]);
  });
});

describe("the name of an error", () => {
  const json =
    (body: object, headers: Record<string, string> = {}) =>
    () =>
      Response.json(body, { status: 400, headers });

  it.each([
    ["after a namespace", json({ __type: "com.amazon.coral.validate#ValidationException" })],
    ["without a prefix or suffix", json({ __type: "UnrecognizedClientException", Message: "m" })],
    [
      "before an address",
      json({ __type: "AccessDeniedException:http://internal.amazon.com/coral/" }),
    ],
    ["in a field `code`", json({ code: "ThrottledByCode" })],
    ["in a header", json({}, { "x-amzn-errortype": "InHeader:http://internal.amazon.com/" })],
  ])("reads the error name %s", async (_where, answer) => {
    await expectSame([answer]);
  });

  it.each([
    [
      { __type: "com.amazonaws.sqs#QueueDoesNotExist" },
      "AWS.SimpleQueueService.NonExistentQueue;Sender",
    ],
    [{ __type: "com.amazonaws.sqs#ReceiptHandleIsInvalid" }, "ReceiptHandleIsInvalid;Sender"],
    [{ __type: "com.amazonaws.sqs#RequestThrottled" }, "RequestThrottled;Sender"],
    [{ __type: "com.amazon.coral.service#AccessDeniedException" }, "AccessDenied;Sender"],
    [{ __type: "com.amazon.coral.service#ExpiredTokenException" }, ""],
  ])("reads the error name from the body %j and the legacy SQS header %s", async (body, code) => {
    const headers: Record<string, string> = code === "" ? {} : { "x-amzn-query-error": code };
    await expectSame([json(body, headers)], { service: "sqs" });
  });
});

it("calls STS at most twice and reads the name of its error", async () => {
  const body = (code: string) =>
    `<ErrorResponse><Error><Type>Sender</Type><Code>${code}</Code></Error></ErrorResponse>`;
  const refusal = (code: string, status: number) => () => new Response(body(code), { status });
  const ask = (url: string) => {
    const sts = createSts({ region, credentials: async () => credentials, endpoint: new URL(url) });
    return () => sts.assumeRole({ roleArn: "r", durationSeconds: 900, signal: hangSignal() });
  };
  expect(await follow(ask, [refusal("AccessDenied", 403)])).toEqual([["AccessDenied", 1]]);
  expect(await follow(ask, [refusal("Throttling", 400), page(503), page(503)])).toEqual([
    ["NoName", 2],
  ]);
});
