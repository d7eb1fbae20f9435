import { describe, expect, it } from "@jest/globals";
import { createSigV4Authorizer } from "@sekisho/runtime/auth/sigv4.ts";
import { createSts } from "@sekisho/runtime/aws/sts.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createHttpsTransport } from "@sekisho/verification/transport/http/transport.ts";
import { json } from "../../doubles/answers.ts";
import { assumableRoleArn, externalId, startAwsSts } from "../../doubles/issuers/aws-sts.ts";
import { closeAfterTest } from "../../doubles/serving.ts";
import { sigv4Problem } from "../../doubles/sigv4-check.ts";
import { type Received, startWebServer } from "../../doubles/web-server.ts";
import { hangSignal } from "../../tooling/hang.ts";
import { credentials, runtimeArn } from "../../verification/transport/agentcore/sample.ts";
import { addCredentials, movableClock } from "./sample.ts";

const scope = { service: "bedrock-agentcore", region: "eu-central-1" };

type ReceivedOptions = { path: string; service?: string; now?: () => number };

/** What arrives at a real server when the https transport signs. */
async function receiveSigned({ path, service = scope.service, now = Date.now }: ReceivedOptions) {
  const receivedRequests: Received[] = [];
  const server = await startWebServer({
    handle: async (request) => {
      receivedRequests.push(request);
      return json({});
    },
  });
  const authorizer = createSigV4Authorizer({
    ...scope,
    service,
    credentials: async () => credentials,
    now,
  });
  const transport = createHttpsTransport({ url: `${server.url}${path}`, authorizer });
  const body = Buffer.from('{"text":"関所 🏯"}');
  await transport.send({
    body,
    sessionId: "s".repeat(33),
    signal: hangSignal(),
    trace: createTrace(),
  });
  await transport.close?.();
  await server.close();
  const [request] = receivedRequests;
  if (request === undefined) throw new Error("nothing arrived");
  return request;
}

describe("the signature check of these tests", () => {
  it("the signature check accepts the official example of AWS and rejects any other path", () => {
    const signature = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b";
    const example = (target: string): Received => ({
      target,
      body: new Uint8Array(),
      request: new Request(`https://example.amazonaws.com${target}`, {
        method: "POST",
        headers: {
          host: "example.amazonaws.com",
          "x-amz-date": "20150830T123600Z",
          authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
        },
      }),
    });
    const knownScope = {
      credentials: {
        accessKeyId: "AKIDEXAMPLE",
        secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
      },
      service: "service",
      region: "us-east-1",
      nowMs: Date.UTC(2015, 7, 30, 12, 36),
    };
    expect(sigv4Problem({ received: example("/"), ...knownScope })).toBeUndefined();
    expect(sigv4Problem({ received: example("/other"), ...knownScope })).toBe("wrong signature");
  });
});

describe("the sigv4 authorizer", () => {
  it.each([
    "/",
    "/task?b=2&a=1&a=0&empty=",
    "/with%20space/%E9%96%A2?q=a%20b%2Bc",
    `/runtimes/${encodeURIComponent(runtimeArn)}/invocations?qualifier=DEFAULT`,
  ])("signs %s as the specification says, for the bytes that arrive", async (path) => {
    const request = await receiveSigned({ path });
    expect(sigv4Problem({ received: request, credentials, ...scope })).toBeUndefined();
    const tamperedRequest = { ...request, body: new TextEncoder().encode("{}") };
    expect(sigv4Problem({ received: tamperedRequest, credentials, ...scope })).toBe(
      "wrong signature",
    );
  });

  it("signs the session header and leaves out headers that proxies may rewrite", async () => {
    const { request } = await receiveSigned({ path: "/" });
    const signedNames = /SignedHeaders=([^,]+)/
      .exec(request.headers.get("authorization") ?? "")?.[1]
      ?.split(";");
    expect(signedNames).toEqual(
      expect.arrayContaining([
        "content-type",
        "host",
        "x-amzn-bedrock-agentcore-runtime-session-id",
      ]),
    );
    expect(signedNames).not.toContain("traceparent");
  });

  it("signs for the configured service and the current time", async () => {
    const request = await receiveSigned({
      path: "/",
      service: "lambda",
      now: () => Date.UTC(2026, 0, 2, 3, 4, 5),
    });
    expect(request.request.headers.get("x-amz-date")).toBe("20260102T030405Z");
    expect(sigv4Problem({ received: request, credentials, ...scope, service: "lambda" })).toBe(
      "stale",
    );
    expect(sigv4Problem({ received: request, credentials, ...scope })).toBe("wrong scope");
  });
});

describe("the sigv4 authorizer with another role", () => {
  const agent = {
    url: "https://abc.execute-api.eu-central-1.amazonaws.com/tasks",
    region: "eu-central-1",
  };

  async function setUp(role: { externalId?: string } = { externalId }) {
    const aws = closeAfterTest(await startAwsSts({ credentials, region: agent.region }));
    const sts = createSts({
      region: agent.region,
      credentials: async () => credentials,
      endpoint: aws.url,
    });
    const { clock, cacheOptions } = movableClock();
    const assumeRole = { sts, roleArn: assumableRoleArn, ...role };
    const authorizer = createSigV4Authorizer({
      service: "execute-api",
      region: agent.region,
      credentials: async () => credentials,
      assumeRole,
      ...cacheOptions,
    });
    return { aws, clock, authorizer };
  }

  /** Whose signature it is, checked as AWS does. */
  async function signedBy({
    aws,
    authorizer,
  }: Pick<Awaited<ReturnType<typeof setUp>>, "aws" | "authorizer">) {
    const { headers } = await addCredentials(authorizer, agent.url);
    const request = new Request(agent.url, { method: "POST", headers: { ...headers } });
    const receivedRequest = {
      request,
      target: new URL(agent.url).pathname,
      body: new Uint8Array(),
    };
    return aws.lent.findIndex(
      (sessionCredentials) =>
        sigv4Problem({
          received: receivedRequest,
          credentials: sessionCredentials,
          service: "execute-api",
          region: agent.region,
        }) === undefined,
    );
  }

  it("signs as the assumed role and assumes it once for many calls", async () => {
    const { aws, authorizer } = await setUp();
    const signers = await Promise.all(
      Array.from({ length: 10 }, () => signedBy({ aws, authorizer })),
    );
    expect(signers).toEqual(Array(10).fill(0));
    expect(aws.inputs).toEqual([
      {
        RoleArn: assumableRoleArn,
        RoleSessionName: "sekisho",
        DurationSeconds: "3600",
        ExternalId: externalId,
      },
    ]);
  });

  it("assumes the role again shortly before the credentials expire", async () => {
    const { aws, clock, authorizer } = await setUp();
    expect(await signedBy({ aws, authorizer })).toBe(0);
    clock.nowMs += 280_000;
    expect(await signedBy({ aws, authorizer })).toBe(0);
    clock.nowMs += 3000_000 - 280_000;
    const { headers } = await addCredentials(authorizer, agent.url);
    expect(headers?.["x-amz-security-token"]).toBe(aws.lent[1]?.sessionToken);
  });

  it("assumes the role again once after many refusals of one session and ignores those of an earlier one", async () => {
    const { aws, authorizer } = await setUp();
    const refusedCredentials = await Promise.all(
      Array.from({ length: 5 }, () => addCredentials(authorizer, agent.url)),
    );
    for (const credentials of refusedCredentials) authorizer.refresh?.(credentials);
    expect(await signedBy({ aws, authorizer })).toBe(1);
    for (const credentials of refusedCredentials) authorizer.refresh?.(credentials);
    expect(await signedBy({ aws, authorizer })).toBe(1);
    expect(aws.lent).toHaveLength(2);
  });

  it("refuses a role whose external id is missing", async () => {
    const { authorizer } = await setUp({});
    await expect(addCredentials(authorizer, agent.url)).rejects.toMatchObject({
      reason: "unauthenticated",
      cause: { code: "AccessDenied" },
    });
  });

  it("rejects an AssumeRole response that holds no credentials", async () => {
    const { aws, authorizer } = await setUp();
    aws.instead = () =>
      new Response("<AssumeRoleResponse><AssumeRoleResult/></AssumeRoleResponse>", {
        headers: { "content-type": "text/xml" },
      });
    await expect(addCredentials(authorizer, agent.url)).rejects.toMatchObject({
      reason: "unavailable",
      cause: { code: "NoCredentials" },
    });
  });

  it("offers no refresh if it signs with its own credentials", () => {
    const authorizer = createSigV4Authorizer({ ...scope, credentials: async () => credentials });
    expect(authorizer.refresh).toBeUndefined();
  });
});
