import { afterEach, describe, expect, it } from "@jest/globals";
import { createSigner } from "../../lambdas/shared/aws/signer.ts";
import type { RecordedCall } from "./aws/gateway.ts";
import { startFunctionUrl } from "./function-url.ts";
import { createConcurrency } from "./lambda/concurrency.ts";
import { createToy, far, near, type Resources, toyCaller, toyFunction, toyRole } from "./toy.ts";

const closing: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const step of closing.splice(0).reverse()) await step();
});

const callerArn = `arn:aws:iam::${near.account}:role/verification`;
const actions = ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"] as const;

function permission(more: Record<string, unknown>): Resources[string] {
  const FunctionName = { "Fn::GetAtt": ["Host", "Arn"] };
  return { Type: "AWS::Lambda::Permission", Properties: { FunctionName, Principal: callerArn, ...more } };
}

/** A host in the other account, and a role that may call it. */
async function start({
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
    Role: toyRole(),
    Host: toyFunction(),
    Url: {
      Type: "AWS::Lambda::Url",
      Properties: { AuthType: "AWS_IAM", TargetFunctionArn: { "Fn::GetAtt": ["Host", "Arn"] } },
    },
  };
  if (open.includes(actions[0])) resources.May = permission({ Action: actions[0], FunctionUrlAuthType: "AWS_IAM" });
  if (open.includes(actions[1])) resources.MayToo = permission({ Action: actions[1], InvokedViaFunctionUrl: true });
  const toy = createToy({
    stacks: [
      {
        place: near,
        resources: { Caller: toyRole([{ Effect: "Allow", Action: allowed, Resource: "*" }], "verification") },
      },
      { place: far, resources },
    ],
    concurrency: createConcurrency({ limit }),
    code: "exports.handler = async ({ requestContext: { authorizer } }) => authorizer;",
  });
  closing.push(toy.close);
  const caller = toyCaller(toy, "Caller");
  const [url] = toy.resolver.resources("AWS::Lambda::Url");
  const [fn] = toy.functions.values();
  if (url === undefined || fn === undefined) throw new Error("unreachable");
  const calls: RecordedCall[] = [];
  const callerOf = (id: string) => (id === caller.credentials.accessKeyId ? caller : undefined);
  const server = await startFunctionUrl({ ...toy, url, fn, callerOf, calls });
  closing.push(server.close);
  const sign = createSigner({ service: "lambda", region: far.region, credentials: async () => caller.credentials });
  const post = async () => {
    const target = new URL(server.url);
    const headers = await sign({ method: "POST", url: target, headers: {}, body: "{}" });
    return fetch(target, { method: "POST", headers, body: "{}" });
  };
  return { ...toy, calls, post, postUnsigned: () => fetch(server.url, { method: "POST", body: "{}" }) };
}

describe("a Function URL with IAM", () => {
  it("tells the function who called: the role that the caller runs under, and its account", async () => {
    const { post, problems, calls } = await start();
    expect(await (await post()).json()).toMatchObject({
      iam: { accountId: near.account, userArn: `arn:aws:sts::${near.account}:assumed-role/verification/Caller` },
    });
    expect(problems).toEqual([]);
    expect(calls).toMatchObject([{ action: "lambda:InvokeFunctionUrl" }]);
  });

  it.each([
    ...actions.map((action) => ({ title: `the caller may not ${action}`, mayNot: [action] })),
    ...actions.map((action) => ({
      title: `the host lets nobody ${action}`,
      open: actions.filter((a) => a !== action),
    })),
  ])("refuses before the function where $title", async ({ title: _, ...wish }) => {
    const { post, problems } = await start(wish);
    expect((await post()).status).toBe(403);
    expect(problems).toEqual([expect.stringMatching(/^Caller may not lambda:Invoke/)]);
  });

  it("answers 429 where the function is throttled", async () => {
    const { post, problems } = await start({ limit: 0 });
    const response = await post();
    expect([response.status, await response.json()]).toEqual([
      429,
      { Reason: "ConcurrentInvocationLimitExceeded", Message: "Rate Exceeded." },
    ]);
    expect(problems).toEqual([]);
  });

  it("refuses whoever has not signed", async () => {
    const { postUnsigned, problems } = await start();
    expect((await postUnsigned()).status).toBe(403);
    expect(problems).toEqual(["Someone unknown called the URL of Toy1/Host."]);
  });
});
