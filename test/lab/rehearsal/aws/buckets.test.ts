import { describe, expect, it } from "@jest/globals";
import { AwsCallError } from "@sekisho/runtime/aws/retry.ts";
import { createS3FileStore } from "@sekisho/verification/files/s3-store.ts";
import { hangSignal } from "../../../tooling/hang.ts";
import { createSample, near, sampleCaller, sampleRole, startSampleGateway } from "../sample.ts";
import { createBuckets } from "./stores.ts";

const objects = { "Fn::Join": ["", [{ "Fn::GetAtt": ["Files", "Arn"] }, "/*"]] };
const ofKey = { "Fn::GetAtt": ["Key", "Arn"] };
const complete = {
  "s3:PutObject": objects,
  "s3:GetObject": objects,
  "kms:GenerateDataKey": ofKey,
  "kms:Decrypt": ofKey,
};
const root = { AWS: `arn:aws:iam::${near.account}:root` };
const onlyEncrypted = {
  Effect: "Deny",
  Principal: "*",
  Action: "s3:*",
  Resource: objects,
  Condition: { Bool: { "aws:SecureTransport": "false" } },
};

/** A bucket under a key, and a role that may do what `actions` say. */
async function start({
  actions,
  policy = onlyEncrypted,
}: {
  actions: Record<string, unknown>;
  policy?: object;
}) {
  const delegated = { Effect: "Allow", Action: "kms:*", Resource: "*", Principal: root };
  const byKey = { SSEAlgorithm: "aws:kms", KMSMasterKeyID: ofKey };
  const encryption = [{ BucketKeyEnabled: true, ServerSideEncryptionByDefault: byKey }];
  const statements = Object.entries(actions).map(([Action, Resource]) => ({
    Effect: "Allow",
    Action,
    Resource,
  }));
  const resources = {
    Key: { Type: "AWS::KMS::Key", Properties: { KeyPolicy: { Statement: [delegated] } } },
    Files: {
      Type: "AWS::S3::Bucket",
      Properties: { BucketEncryption: { ServerSideEncryptionConfiguration: encryption } },
    },
    Policy: {
      Type: "AWS::S3::BucketPolicy",
      Properties: { Bucket: { Ref: "Files" }, PolicyDocument: { Statement: [policy] } },
    },
    Role: sampleRole(statements),
  };
  const sample = createSample({ stacks: [{ place: near, resources }] });
  const { resolver, authority, problems, onProblem } = sample;
  const caller = sampleCaller(sample, "Role");
  const buckets = createBuckets({ resolver, callerOf: () => caller, onProblem });
  const gateway = await startSampleGateway(sample, { backends: { s3: buckets }, caller });
  const { credentials } = caller;
  const [name = ""] = resolver.resources("AWS::S3::Bucket").map((bucket) => bucket.ref);
  const put = ({ bucket = name, region = near.region } = {}) => {
    const aws = {
      region,
      credentials: async () => credentials,
      endpointOf: () => new URL(gateway.url),
    };
    return createS3FileStore({ bucket, aws }).put({
      key: "a-request/a-file",
      bytes: new TextEncoder().encode("hello"),
      mimetype: "text/plain",
      sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
      expiresAtMs: Date.now() + 60_000,
      signal: hangSignal(),
    });
  };
  return { put, problems, calls: gateway.calls, authority };
}

describe("a file in a bucket of the templates", () => {
  it("lets an allowed role write a file and anyone with its URL read it", async () => {
    const { put, problems, calls, authority } = await start({ actions: complete });
    const { url } = await put();
    expect(await (await fetch(url)).text()).toBe("hello");
    expect(problems).toEqual([]);
    expect(calls.map(({ caller, action }) => [caller, action])).toEqual([
      ["Caller", "s3:PutObject"],
      ["Caller", "s3:GetObject"],
    ]);
    expect(authority.unused()).toEqual([]);
  });

  it.each([
    {
      missing: "s3:PutObject",
      on: /Caller may not s3:PutObject on arn:aws:s3:::sample0-files-[^/]+\/a-request\/a-file/,
    },
    { missing: "kms:GenerateDataKey", on: /Caller may not kms:GenerateDataKey on arn:aws:kms:/ },
  ] as const)("refuses to write a file when nothing allows $missing", async ({ missing, on }) => {
    const { [missing]: _, ...actions } = complete;
    const { put, problems } = await start({ actions });
    await expect(put()).rejects.toMatchObject({ name: "AccessDenied" });
    expect(problems).toEqual([expect.stringMatching(on)]);
  });

  it.each(["s3:GetObject", "kms:Decrypt"] as const)(
    "refuses to read a file when nothing allows its signer %s",
    async (missing) => {
      const { [missing]: _, ...actions } = complete;
      const { put, problems } = await start({ actions });
      const { url } = await put();
      expect((await fetch(url)).status).toBe(403);
      expect(problems).toEqual([
        expect.stringMatching(new RegExp(`^Caller may not ${missing} on arn:`)),
      ]);
    },
  );

  it("refuses a URL for another file or for a longer time than was signed", async () => {
    const { put, problems } = await start({ actions: complete });
    const { url } = await put();
    expect((await fetch(url.replace("a-file", "another"))).status).toBe(403);
    expect((await fetch(url.replace(/X-Amz-Expires=\d+/, "X-Amz-Expires=86400"))).status).toBe(403);
    const wrong = "Caller signed s3:GetObject wrongly: wrong signature.";
    expect(problems).toEqual([wrong, wrong]);
  });

  it("refuses to write to an unknown bucket, from another region, or against the bucket's policy", async () => {
    const { put, problems } = await start({
      actions: { ...complete, "s3:PutObject": "arn:aws:s3:::*" },
    });
    await expect(put({ bucket: "of-somebody-else" })).rejects.toThrow(AwsCallError);
    await expect(put({ region: "us-east-1" })).rejects.toThrow(AwsCallError);
    const { put: putDenied, problems: denials } = await start({
      actions: complete,
      policy: { ...onlyEncrypted, Condition: {} },
    });
    await expect(putDenied()).rejects.toMatchObject({ name: "AccessDenied" });
    expect(problems).toEqual([
      "Caller asked for s3:PutObject of the bucket of-somebody-else, which no template has.",
      expect.stringMatching(/^sample0-files-\w+ refused s3:PutObject of Caller: wrong scope\.$/),
    ]);
    expect(denials).toEqual([
      expect.stringMatching(/may not s3:PutObject .*: a Deny of Sample0\/Policy\.$/),
    ]);
  });
});
