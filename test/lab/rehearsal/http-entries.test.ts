import { describe, expect, it } from "@jest/globals";
import { createSigner } from "@sekisho/runtime/aws/signer.ts";
import type { RecordedCall } from "./aws/gateway.ts";
import { startFunctionUrl, startHttpEntry } from "./http-entries.ts";
import { createConcurrency } from "./lambda/concurrency.ts";
import {
  closeAfterTest,
  createSample,
  far,
  near,
  type Resources,
  sampleCaller,
  sampleFunction,
  sampleRole,
} from "./sample.ts";

const sourceArn = {
  "Fn::Sub": `arn:aws:execute-api:\${AWS::Region}:\${AWS::AccountId}:\${Api}/*/*/slack/events`,
};

const resources = {
  Role: sampleRole(),
  Front: sampleFunction(),
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
  const sample = createSample({
    stacks: [{ place: near, resources: { ...resources, ...changed } }],
    code,
    concurrency: createConcurrency({ limit }),
  });
  const entry = await startHttpEntry(sample);
  closeAfterTest(entry.close);
  const post = (
    body: string | Uint8Array<ArrayBuffer>,
    contentType = "application/json",
    path = "/slack/events",
  ) =>
    fetch(`${entry.url}${path}`, {
      method: "POST",
      headers: { "content-type": contentType, "X-Signature": "v0" },
      body,
    });
  return { ...sample, post };
}

describe("the HTTP API", () => {
  it("passes an event of payload version 2.0 to the function and its answer to the caller", async () => {
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

  it("encodes a binary body in base64", async () => {
    const { post } = await start();
    const event = (await (
      await post(Uint8Array.from([255, 0, 1]), "application/octet-stream")
    ).json()) as object;
    expect(event).toMatchObject({ body: "/wAB", isBase64Encoded: true });
  });

  it("answers 404 to another path without calling the function", async () => {
    const { post } = await start({ code: "throw new Error('asked');" });
    expect((await post("{}", "application/json", "/slack/event")).status).toBe(404);
  });

  it("answers 500 when the function fails and reports why", async () => {
    const { post, problems } = await start({
      code: "exports.handler = async () => { throw new Error('no'); };",
    });
    expect((await post("{}")).status).toBe(500);
    expect(problems).toEqual(["Sample0/Front failed: it threw Error: no"]);
  });

  it("answers 500 when the function is throttled and reports no problem", async () => {
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
        Properties: {
          ...resources.Permission.Properties,
          SourceArn: "arn:aws:execute-api:*:*:*/*/*/slack/commands",
        },
      },
    },
  ])("answers 500 for a function that has $title", async ({ permission }) => {
    const { post, problems } = await start({ changed: { Permission: permission } });
    expect((await post("{}")).status).toBe(500);
    expect(problems).toEqual([
      expect.stringMatching(
        /^Sample0\/Api may not invoke .*: nothing in the resource's policy allows it/,
      ),
    ]);
  });
});

const callerArn = `arn:aws:iam::${near.account}:role/verification`;
const actions = ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"] as const;

function permission(more: Record<string, unknown>): Resources[string] {
  const FunctionName = { "Fn::GetAtt": ["Host", "Arn"] };
  return {
    Type: "AWS::Lambda::Permission",
    Properties: { FunctionName, Principal: callerArn, ...more },
  };
}

/** A host in the other account, and a role that may call it. */
async function startUrl({
  mayNot = [],
  open = [...actions],
  limit = 10,
}: {
  mayNot?: string[];
  open?: string[];
  limit?: number;
} = {}) {
  const allowed = actions.filter((action) => !mayNot.includes(action));
  const resources: Resources = {
    Role: sampleRole(),
    Host: sampleFunction(),
    Url: {
      Type: "AWS::Lambda::Url",
      Properties: { AuthType: "AWS_IAM", TargetFunctionArn: { "Fn::GetAtt": ["Host", "Arn"] } },
    },
  };
  if (open.includes(actions[0]))
    resources.May = permission({ Action: actions[0], FunctionUrlAuthType: "AWS_IAM" });
  if (open.includes(actions[1]))
    resources.MayToo = permission({ Action: actions[1], InvokedViaFunctionUrl: true });
  const sample = createSample({
    stacks: [
      {
        place: near,
        resources: {
          Caller: sampleRole([{ Effect: "Allow", Action: allowed, Resource: "*" }], "verification"),
        },
      },
      { place: far, resources },
    ],
    concurrency: createConcurrency({ limit }),
    code: "exports.handler = async ({ requestContext: { authorizer } }) => authorizer;",
  });
  const caller = sampleCaller(sample, "Caller");
  const [url] = sample.resolver.resources("AWS::Lambda::Url");
  const [fn] = sample.functions.values();
  if (url === undefined || fn === undefined) throw new Error("unreachable");
  const calls: RecordedCall[] = [];
  const callerOf = (id: string) => (id === caller.credentials.accessKeyId ? caller : undefined);
  const server = await startFunctionUrl({ ...sample, url, fn, callerOf, calls });
  closeAfterTest(server.close);
  const sign = createSigner({
    service: "lambda",
    region: far.region,
    credentials: async () => caller.credentials,
  });
  const post = async () => {
    const target = new URL(server.url);
    const headers = await sign({ method: "POST", url: target, headers: {}, body: "{}" });
    return fetch(target, { method: "POST", headers, body: "{}" });
  };
  return {
    ...sample,
    calls,
    post,
    postUnsigned: () => fetch(server.url, { method: "POST", body: "{}" }),
  };
}

describe("a Function URL with IAM", () => {
  it("tells the function the role and the account of the caller", async () => {
    const { post, problems, calls } = await startUrl();
    expect(await (await post()).json()).toMatchObject({
      iam: {
        accountId: near.account,
        userArn: `arn:aws:sts::${near.account}:assumed-role/verification/Caller`,
      },
    });
    expect(problems).toEqual([]);
    expect(calls).toMatchObject([{ action: "lambda:InvokeFunctionUrl" }]);
  });

  it.each([
    ...actions.map((action) => ({ title: `the caller lacks ${action}`, mayNot: [action] })),
    ...actions.map((action) => ({
      title: `the host grants nobody ${action}`,
      open: actions.filter((a) => a !== action),
    })),
  ])("refuses a call before it reaches the function if $title", async ({ title: _, ...wish }) => {
    const { post, problems } = await startUrl(wish);
    expect((await post()).status).toBe(403);
    expect(problems).toEqual([expect.stringMatching(/^Caller may not lambda:Invoke/)]);
  });

  it("answers 429 when the function is throttled", async () => {
    const { post, problems } = await startUrl({ limit: 0 });
    const response = await post();
    expect([response.status, await response.json()]).toEqual([
      429,
      { Reason: "ConcurrentInvocationLimitExceeded", Message: "Rate Exceeded." },
    ]);
    expect(problems).toEqual([]);
  });

  it("refuses an unsigned call", async () => {
    const { postUnsigned, problems } = await startUrl();
    expect((await postUnsigned()).status).toBe(403);
    expect(problems).toEqual(["Someone unknown called the URL of Sample1/Host."]);
  });
});
