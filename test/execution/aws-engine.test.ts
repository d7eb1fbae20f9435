import { hash } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { openCompletionQueue } from "@sekisho/execution/aws-engine.ts";
import { readAwsEnvironment } from "@sekisho/runtime/aws/environment.ts";
import { startWebServer, type WebServer } from "../doubles/web-server.ts";

const originalEnv = { ...process.env };

describe("the completion queue of the Execution zone", () => {
  let server: WebServer;
  let calls: { scope: string | undefined; queueUrl: string }[];

  beforeEach(async () => {
    calls = [];
    server = await startWebServer({
      handle: async ({ request, body }) => {
        const { QueueUrl: queueUrl, MessageBody } = JSON.parse(Buffer.from(body).toString());
        const [, scope] =
          /Credential=[^/]+\/\d{8}\/([^,]+),/.exec(request.headers.get("authorization") ?? "") ??
          [];
        calls.push({ scope, queueUrl });
        return Response.json({ MessageId: "1", MD5OfMessageBody: hash("md5", MessageBody) });
      },
    });
    const credentials = {
      AWS_ACCESS_KEY_ID: "AKID",
      AWS_SECRET_ACCESS_KEY: "s",
      AWS_REGION: "eu-west-1",
    };
    process.env = { ...originalEnv, ...credentials, AWS_ENDPOINT_URL_SQS: server.url };
  });
  afterEach(async () => {
    process.env = { ...originalEnv };
    await server.close();
  });

  it.each([
    [
      "the region of its address",
      "https://sqs.ap-northeast-1.amazonaws.com/111111111111/c",
      "ap-northeast-1",
    ],
    [
      "the region of a sovereign cloud",
      "https://sqs.eusc-de-east-1.amazonaws.eu/111111111111/c",
      "eusc-de-east-1",
    ],
    [
      "the region of an isolated partition",
      "https://sqs.us-iso-east-1.c2s.ic.gov/111111111111/c",
      "us-iso-east-1",
    ],
    [
      "its own region if the address is not of AWS",
      "http://127.0.0.1:9/000000000000/c",
      "eu-west-1",
    ],
  ])("calls the completion queue in %s", async (_what, queueUrl, region) => {
    await openCompletionQueue({ queueUrl, aws: readAwsEnvironment() }).send({ body: "{}" });
    expect(calls).toEqual([{ scope: `${region}/sqs/aws4_request`, queueUrl }]);
  });
});
