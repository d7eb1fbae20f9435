import { AssumeRoleCommand, GetWebIdentityTokenCommand, STSClient } from "@aws-sdk/client-sts";
import { describe, expect, it } from "@jest/globals";
import { createRemoteJWKSet, decodeJwt, jwtVerify } from "jose";
import {
  closeAfterTest,
  createSample,
  far,
  near,
  sampleCaller,
  sampleRole,
  startSampleGateway,
} from "../sample.ts";
import type { Caller } from "./callers.ts";
import { stsBackend } from "./sts.ts";
import { startTokenIssuer } from "./token-issuer.ts";

const callerArn = `arn:aws:iam::${near.account}:role/caller`;
const farArn = `arn:aws:iam::${far.account}:role/far`;
const tokens = {
  Effect: "Allow",
  Action: "sts:GetWebIdentityToken",
  Resource: "*",
  Condition: {
    "ForAllValues:StringEquals": { "sts:IdentityTokenAudience": ["https://far.example"] },
    Null: { "sts:IdentityTokenAudience": "false" },
    StringEquals: { "sts:SigningAlgorithm": "RS256" },
    NumericLessThanEquals: { "sts:DurationSeconds": 300 },
  },
};
const assume = { Effect: "Allow", Action: "sts:AssumeRole", Resource: farArn };

/** A caller that may do what the statements say, and a role of another account that trusts it by an external id. */
async function start(...statements: unknown[]) {
  const trust = {
    Effect: "Allow",
    Action: "sts:AssumeRole",
    Principal: { AWS: callerArn },
    Condition: { StringEquals: { "sts:ExternalId": "sekisho" } },
  };
  const farRole = sampleRole([tokens], "far");
  const sample = createSample({
    stacks: [
      { place: near, resources: { Caller: sampleRole(statements, "caller") } },
      {
        place: far,
        resources: {
          Far: {
            Type: "AWS::IAM::Role",
            Properties: { ...farRole.Properties, AssumeRolePolicyDocument: { Statement: [trust] } },
          },
        },
      },
    ],
  });
  const issuer = await startTokenIssuer();
  closeAfterTest(issuer.close);
  const caller = sampleCaller(sample, "Caller");
  const sts = stsBackend({ issuer, onAssumed: (assumed) => gateway.register(assumed) });
  const gateway = await startSampleGateway(sample, { backends: { sts }, caller });
  const clientOf = ({ credentials, region }: Pick<Caller, "credentials" | "region">) => {
    const client = new STSClient({ endpoint: gateway.url, region, credentials, maxAttempts: 1 });
    closeAfterTest(() => client.destroy());
    return client;
  };
  const tokenFor = (
    input: {
      Audience?: string[];
      SigningAlgorithm?: string;
      DurationSeconds?: number;
      Tags?: { Key: string; Value: string }[];
    } = {},
    who: Pick<Caller, "credentials" | "region"> = caller,
  ) =>
    clientOf(who).send(
      new GetWebIdentityTokenCommand({
        Audience: ["https://far.example"],
        SigningAlgorithm: "RS256",
        ...input,
      }),
    );
  const roleFor = (input: { ExternalId?: string } = {}) =>
    clientOf(caller).send(
      new AssumeRoleCommand({ RoleArn: farArn, RoleSessionName: "caller", ...input }),
    );
  return { issuer, problems: sample.problems, authority: sample.authority, tokenFor, roleFor };
}

describe("AWS STS", () => {
  it("issues an allowed role a token that anyone can verify by the published key", async () => {
    const { issuer, problems, tokenFor } = await start(tokens);
    const { WebIdentityToken: token = "", Expiration } = await tokenFor({ DurationSeconds: 120 });
    const discovery = await fetch(`${issuer.url}/.well-known/openid-configuration`);
    const { jwks_uri, issuer: named } = (await discovery.json()) as Record<string, string>;
    const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(jwks_uri ?? "")), {
      issuer: issuer.url,
      audience: "https://far.example",
      subject: callerArn,
    });
    expect(named).toBe(issuer.url);
    expect(Number(payload.exp) - Number(payload.iat)).toBe(120);
    expect(Expiration).toBeInstanceOf(Date);
    expect(payload["https://sts.amazonaws.com/"]).toMatchObject({ aws_account: near.account });
    expect(problems).toEqual([]);
  });

  it.each([
    { title: "another audience", input: { Audience: ["https://elsewhere.example"] } },
    {
      title: "another audience beside the right one",
      input: { Audience: ["https://far.example", "other"] },
    },
    { title: "another algorithm", input: { SigningAlgorithm: "ES384" } },
    { title: "a longer lifetime", input: { DurationSeconds: 301 } },
  ])("refuses a token for $title and names the caller", async ({ input }) => {
    const { problems, tokenFor } = await start(tokens);
    await expect(tokenFor(input)).rejects.toMatchObject({ name: "AccessDenied" });
    expect(problems).toEqual([
      `Caller may not sts:GetWebIdentityToken on arn:aws:sts::${near.account}:self: nothing in the role's policies or the resource's policy allows it.`,
    ]);
  });

  const mayTag = {
    Effect: "Allow",
    Action: "sts:TagGetWebIdentityToken",
    Resource: "*",
    Condition: { "ForAllValues:StringEquals": { "aws:TagKeys": ["slack_user"] } },
  };
  const Tags = [{ Key: "slack_user", Value: "U1" }];

  it("issues a token with tags if the role may tag with these keys", async () => {
    const { problems, tokenFor } = await start(tokens, mayTag);
    const { WebIdentityToken: token = "" } = await tokenFor({ Tags });
    expect(decodeJwt(token)["https://sts.amazonaws.com/"]).toMatchObject({
      request_tags: { slack_user: "U1" },
    });
    expect(problems).toEqual([]);
  });

  it.each([
    { title: "a role that may not tag", statements: [tokens], input: { Tags } },
    {
      title: "another key",
      statements: [tokens, mayTag],
      input: { Tags: [...Tags, { Key: "slack_email", Value: "a@b.example" }] },
    },
  ])("refuses tags of $title", async ({ statements, input }) => {
    const { problems, tokenFor } = await start(...statements);
    await expect(tokenFor(input)).rejects.toMatchObject({ name: "AccessDenied" });
    expect(problems).toEqual([expect.stringContaining("may not sts:TagGetWebIdentityToken")]);
  });

  it("refuses tags with characters that STS does not allow", async () => {
    const { tokenFor } = await start(tokens, mayTag);
    const refusal = tokenFor({ Tags: [{ Key: "slack_user", Value: "<U1>" }] });
    await expect(refusal).rejects.toMatchObject({ name: "ValidationError" });
  });

  it("lets another account assume a role when both sides allow it", async () => {
    const { issuer, problems, authority, tokenFor, roleFor } = await start(assume);
    const { Credentials } = await roleFor({ ExternalId: "sekisho" });
    const {
      AccessKeyId: accessKeyId = "",
      SecretAccessKey: secretAccessKey = "",
      SessionToken: sessionToken = "",
    } = Object(Credentials);
    const { WebIdentityToken: token = "" } = await tokenFor(
      {},
      { region: far.region, credentials: { accessKeyId, secretAccessKey, sessionToken } },
    );
    expect(issuer.issued).toEqual([token]);
    expect(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()).sub).toBe(
      farArn,
    );
    expect(problems).toEqual([]);
    expect(authority.unused()).toEqual([]);
  });

  it.each([
    {
      title: "without the external id that its trust policy requires",
      statements: [assume],
      input: {},
    },
    {
      title: "without a policy of the caller that allows it",
      statements: [],
      input: { ExternalId: "sekisho" },
    },
  ])("refuses to let a caller assume a role $title", async ({ statements, input }) => {
    const { problems, roleFor } = await start(...statements);
    await expect(roleFor(input)).rejects.toMatchObject({ name: "AccessDenied" });
    expect(problems).toEqual([
      expect.stringMatching(`^Caller may not sts:AssumeRole on ${farArn}: nothing`),
    ]);
  });
});
