import { afterEach, describe, expect, it } from "@jest/globals";
import { startHttpEntry } from "./http-entry.ts";
import { createConcurrency } from "./lambda/concurrency.ts";
import { createToy, near, type Resources, toyFunction, toyRole } from "./toy.ts";

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const step of closing.splice(0).reverse()) await step();
});

const sourceArn = { "Fn::Sub": `arn:aws:execute-api:\${AWS::Region}:\${AWS::AccountId}:\${Api}/*/*/slack/events` };

const resources = {
  Role: toyRole(),
  Front: toyFunction(),
  Api: { Type: "AWS::ApiGatewayV2::Api", Properties: { ProtocolType: "HTTP" } },
  Integration: {
    Type: "AWS::ApiGatewayV2::Integration",
    Properties: { IntegrationUri: { "Fn::GetAtt": ["Front", "Arn"] }, PayloadFormatVersion: "2.0" },
  },
  Route: {
    Type: "AWS::ApiGatewayV2::Route",
    Properties: {
      RouteKey: "POST /slack/events",
      Target: { "Fn::Join": ["/", ["integrations", { Ref: "Integration" }]] },
    },
  },
  Permission: {
    Type: "AWS::Lambda::Permission",
    Properties: {
      Action: "lambda:InvokeFunction",
      FunctionName: { "Fn::GetAtt": ["Front", "Arn"] },
      Principal: "apigateway.amazonaws.com",
      SourceArn: sourceArn,
    },
  },
} satisfies Resources;

const echo =
  "exports.handler = async (event) => ({ statusCode: 201, headers: { 'x-seen': 'yes' }, body: JSON.stringify(event) });";

async function start({
  code = echo,
  changed = {},
  limit = 10,
}: {
  code?: string;
  changed?: Resources;
  limit?: number;
} = {}) {
  const toy = createToy({
    stacks: [{ place: near, resources: { ...resources, ...changed } }],
    code,
    concurrency: createConcurrency({ limit }),
  });
  closing.push(toy.close);
  const entry = await startHttpEntry(toy);
  closing.push(entry.close);
  const post = (body: string | Uint8Array<ArrayBuffer>, contentType = "application/json", path = "/slack/events") =>
    fetch(`${entry.url}${path}`, {
      method: "POST",
      headers: { "content-type": contentType, "X-Signature": "v0" },
      body,
    });
  return { ...toy, post };
}

describe("the HTTP API", () => {
  it("gives the function an event of payload version 2.0, and its answer to the caller", async () => {
    const { post, problems } = await start();
    const response = await post('{"text":"関所"}');
    expect(response.status).toBe(201);
    expect(response.headers.get("x-seen")).toBe("yes");
    expect(await response.json()).toMatchObject({
      version: "2.0",
      routeKey: "POST /slack/events",
      rawPath: "/slack/events",
      headers: { "x-signature": "v0" },
      requestContext: { http: { method: "POST", path: "/slack/events" } },
      body: '{"text":"関所"}',
      isBase64Encoded: false,
    });
    expect(problems).toEqual([]);
  });

  it("encodes a body that is no text", async () => {
    const { post } = await start();
    const event = (await (await post(Uint8Array.from([255, 0, 1]), "application/octet-stream")).json()) as object;
    expect(event).toMatchObject({ body: "/wAB", isBase64Encoded: true });
  });

  it("knows no other path, and asks no function about one", async () => {
    const { post } = await start({ code: "throw new Error('asked');" });
    expect((await post("{}", "application/json", "/slack/event")).status).toBe(404);
  });

  it("answers 500 where the function fails, and the rehearsal tells why", async () => {
    const { post, problems } = await start({ code: "exports.handler = async () => { throw new Error('no'); };" });
    expect((await post("{}")).status).toBe(500);
    expect(problems).toEqual(["Toy0/Front failed: it threw Error: no"]);
  });

  it("answers 500 where the function is throttled, which is no problem of the deploy", async () => {
    const { post, problems } = await start({ limit: 0 });
    expect((await post("{}")).status).toBe(500);
    expect(problems).toEqual([]);
  });

  it.each([
    { title: "no permission", permission: { Type: "AWS::CDK::Metadata" } },
    {
      title: "a permission for another path",
      permission: {
        ...resources.Permission,
        Properties: { ...resources.Permission.Properties, SourceArn: "arn:aws:execute-api:*:*:*/*/*/slack/commands" },
      },
    },
  ])("cannot reach a function that has $title", async ({ permission }) => {
    const { post, problems } = await start({ changed: { Permission: permission } });
    expect((await post("{}")).status).toBe(500);
    expect(problems).toEqual([
      expect.stringMatching(/^Toy0\/Api may not invoke .*: nothing in the resource's policy allows it/),
    ]);
  });
});
