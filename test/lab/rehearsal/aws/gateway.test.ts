import { describe, expect, it } from "@jest/globals";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import type { AwsCallError } from "@sekisho/runtime/aws/retry.ts";
import { createSample, near, sampleCaller, sampleRole, startSampleGateway } from "../sample.ts";
import type { Backend } from "./gateway.ts";

/** A queue under a key, and a role that may do what `actions` say. */
async function start({ actions }: { actions: Record<string, string> }) {
  const resources = {
    Key: {
      Type: "AWS::KMS::Key",
      Properties: {
        KeyPolicy: {
          Statement: [
            {
              Effect: "Allow",
              Action: "kms:*",
              Resource: "*",
              Principal: { AWS: `arn:aws:iam::${near.account}:root` },
            },
          ],
        },
      },
    },
    Tasks: {
      Type: "AWS::SQS::Queue",
      Properties: { KmsMasterKeyId: { "Fn::GetAtt": ["Key", "Arn"] } },
    },
    Role: sampleRole(
      Object.entries(actions).map(([Action, of]) => ({
        Effect: "Allow",
        Action,
        Resource: { "Fn::GetAtt": [of, "Arn"] },
      })),
    ),
  };
  const sample = createSample({ stacks: [{ place: near, resources }] });
  const { resolver, authority, problems } = sample;
  const [queue] = resolver.resources("AWS::SQS::Queue");
  if (queue === undefined) throw new Error("unreachable");
  const caller = sampleCaller(sample, "Role");
  const backend: Backend = async ({ call }) => Response.json({ MessageId: call.action });
  const gateway = await startSampleGateway(sample, { backends: { sqs: backend }, caller });
  const { url } = gateway;
  const send = ({ credentials = caller.credentials, region = near.region } = {}) =>
    createJsonClient({
      service: "sqs",
      region,
      credentials: async () => credentials,
      endpointOf: () => new URL(url),
      timeoutMs: 2000,
    }).call("SendMessage", { QueueUrl: queue.ref, MessageBody: "{}" });
  return { send, problems, authority, caller, calls: gateway.calls };
}

const complete = { "sqs:SendMessage": "Tasks", "kms:GenerateDataKey": "Key", "kms:Decrypt": "Key" };

describe("a call of AWS", () => {
  it("passes an allowed call to the service and records it with its caller", async () => {
    const { send, problems, calls } = await start({ actions: complete });
    expect(await send()).toEqual({ MessageId: "sqs:SendMessage" });
    expect(problems).toEqual([]);
    expect(calls).toMatchObject([{ caller: "Caller", action: "sqs:SendMessage" }]);
  });

  it.each(["sqs:SendMessage", "kms:GenerateDataKey", "kms:Decrypt"] as const)(
    "refuses a call as AWS does when nothing allows %s, and names caller and action",
    async (missing) => {
      const { [missing]: _, ...actions } = complete;
      const { send, problems, calls } = await start({ actions });
      const refusal = await send().then(undefined, (error: AwsCallError) => error.name);
      expect(refusal).toBe("AccessDeniedException");
      expect(problems).toEqual([
        expect.stringMatching(new RegExp(`^Caller may not ${missing} on arn:`)),
      ]);
      expect(calls).toEqual([]);
    },
  );

  it("lists the permissions that no call needed", async () => {
    const { send, authority } = await start({
      actions: { ...complete, "sqs:PurgeQueue": "Tasks" },
    });
    expect(authority.unused()).toHaveLength(4);
    await send();
    expect(authority.unused()).toMatchObject([
      { source: "Sample0/Role", action: "sqs:PurgeQueue" },
    ]);
  });

  it("refuses a wrong signature, an unknown key and another region", async () => {
    const { send, problems, caller } = await start({ actions: complete });
    await expect(
      send({ credentials: { ...caller.credentials, secretAccessKey: "guessed" } }),
    ).rejects.toThrow();
    await expect(
      send({ credentials: { ...caller.credentials, accessKeyId: "ASIAUNKNOWN" } }),
    ).rejects.toThrow();
    await expect(send({ region: "us-east-1" })).rejects.toThrow();
    expect(problems).toEqual([
      "Caller signed sqs:SendMessage wrongly: wrong signature.",
      "Someone unknown called /.",
      expect.stringMatching(/^Caller may not sqs:SendMessage on arn:aws:sqs:us-east-1:/),
    ]);
  });
});
