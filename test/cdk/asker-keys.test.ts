/** The keys that sign who asked, in the stacks of a stage. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { createSettings } from "@sekisho/cdk/stage.ts";
import { VerificationZone } from "@sekisho/cdk/verification-zone.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { a, configWith } from "./synth.ts";

const region = "eu-central-1";
const folder = mkdtempSync(join(tmpdir(), "sekisho-asker-keys-"));
const code = join(folder, "code");
mkdirSync(code);
for (const name of ["index.js", "server.js"]) writeFileSync(join(code, name), "");
afterAll(() => rmSync(folder, { recursive: true }));

const issuer = "https://asker.example";
const roleArn = `arn:aws:iam::${a}:role/sekisho-dev-verification`;
const keys = [
  { id: "first", from: "2026-01-01T00:00:00Z" },
  { id: "second", from: "2027-01-01T00:00:00Z" },
];
const url = "https://agent.example/";
const bearer = { type: "bearer", token: { env: "KEY" } };
const told = { transport: "https", url, authorizer: bearer, asker: true };
const exchange = {
  type: "token-exchange",
  tokenUrl: "https://login.example/token",
  clientId: "sekisho",
};
const untold = { transport: "https", url, authorizer: bearer };

type Json = Record<string, unknown>;

function settingsOf(parts: { stage?: Json; destination: Json; asker?: Json }) {
  const { stage, destination, asker } = parts;
  const json = configWith({
    stage: { execution: { kind: "external" }, ...stage },
    destinations: { one: destination },
    routes: [{ destination: "one" }],
    ...(asker && { asker }),
  });
  const config = parseConfig({ json });
  const settings = createSettings({ config, configDirectory: folder, stageName: "dev", folder });
  return { ...settings, writeBundle: () => code };
}

function verificationOf(parts: Parameters<typeof settingsOf>[0]): Template {
  const app = new App({ outdir: join(folder, "out"), analyticsReporting: false });
  const stack = new Stack(app, "Verification", { env: { account: a, region } });
  new VerificationZone(stack, "Sekisho", { settings: settingsOf(parts) });
  return Template.fromStack(stack);
}

/** The statements with the action kms:Sign, of all policies of roles. */
function signStatements(template: Template): unknown[] {
  return Object.values(template.findResources("AWS::IAM::Policy"))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
    .filter(({ Action }) => Action === "kms:Sign");
}

const signingKeys = { KeyUsage: "SIGN_VERIFY" };

describe("a stage with a destination that is told who asked", () => {
  it.each([
    ["RS256", "RSA_2048", "RSASSA_PKCS1_V1_5_SHA_256"],
    ["ES256", "ECC_NIST_P256", "ECDSA_SHA_256"],
  ])(
    "has a key of KMS for each key of %s, with which only the worker signs",
    (algorithm, KeySpec, kmsAlgorithm) => {
      const template = verificationOf({ destination: told, asker: { issuer, algorithm, keys } });
      template.resourcePropertiesCountIs("AWS::KMS::Key", { KeySpec, ...signingKeys }, 2);
      for (const { id } of keys)
        template.hasResourceProperties("AWS::KMS::Alias", {
          AliasName: `alias/sekisho-dev-asker-${id}`,
        });
      const [statement, ...others] = signStatements(template);
      expect(others).toEqual([]);
      const ids = Object.keys(template.findResources("AWS::KMS::Key", { Properties: signingKeys }));
      expect(statement).toEqual({
        Action: "kms:Sign",
        Effect: "Allow",
        Resource: ids.map((id) => ({ "Fn::GetAtt": [id, "Arn"] })),
        Condition: { StringEquals: { "kms:SigningAlgorithm": kmsAlgorithm } },
      });
    },
  );

  it("lets nobody else of the account sign, by the policy of the key", () => {
    const template = verificationOf({ destination: told, asker: { issuer } });
    const [key] = Object.values(
      template.findResources("AWS::KMS::Key", { Properties: signingKeys }),
    );
    const statements: { Action: string | string[]; Condition?: unknown }[] =
      key?.Properties.KeyPolicy.Statement;
    const permitsSigning = (action: string) => /^kms:(\*|S\*|Sign.*|CreateGrant)$/.test(action);
    const signers = statements.filter(({ Action }) => [Action].flat().some(permitsSigning));
    expect(signers.map(({ Condition }) => Condition)).toEqual([
      {
        StringEquals: { "kms:SigningAlgorithm": "RSASSA_PKCS1_V1_5_SHA_256" },
        ArnEquals: { "aws:PrincipalArn": roleArn },
      },
    ]);
  });

  it("gives the worker the name of the zone and the ARNs of the keys", () => {
    const template = verificationOf({ destination: told, asker: { issuer, keys } });
    const workers = Object.values(template.findResources("AWS::Lambda::Function")).filter(
      ({ Properties }) => "SEKISHO_ASKER" in (Properties.Environment?.Variables ?? {}),
    );
    expect(workers).toHaveLength(1);
    const text = JSON.stringify(workers[0]?.Properties.Environment.Variables.SEKISHO_ASKER);
    for (const part of [roleArn, "first", "second"]) expect(text).toContain(part);
  });

  it.each([
    [true, 30],
    [false, 7],
  ])(
    "deletes a dropped key after the waiting time, in production (%s) after %s days",
    (production, days) => {
      const parts = { stage: { production }, destination: told, asker: { issuer } };
      verificationOf(parts).hasResource("AWS::KMS::Key", {
        Properties: { ...signingKeys, PendingWindowInDays: days },
        DeletionPolicy: "Delete",
      });
    },
  );

  it.each<[string, Json]>([
    ["is told", told],
    ["trades the token, and is not told itself", { ...untold, authorizer: exchange }],
    ["gets the token as the bearer", { ...untold, authorizer: { type: "asker" } }],
  ])("has a key, its permission and an alarm if the destination %s", (_name, destination) => {
    const template = verificationOf({ destination, asker: { issuer } });
    template.resourcePropertiesCountIs("AWS::KMS::Key", signingKeys, 1);
    expect(signStatements(template)).toHaveLength(1);
    template.hasResourceProperties("AWS::CloudWatch::Alarm", {
      MetricName: "sekisho_asker_failures_total",
    });
  });
});

it.each([
  ["has no issuer", { destination: untold }],
  ["tells no destination", { destination: untold, asker: { issuer } }],
])("adds nothing to a stage that %s", (_name, parts) => {
  const template = verificationOf(parts);
  template.resourcePropertiesCountIs("AWS::KMS::Key", signingKeys, 0);
  expect(signStatements(template)).toEqual([]);
  expect(JSON.stringify(template.toJSON())).not.toMatch(
    /SEKISHO_ASKER|sekisho_asker|AskerTokensFail/,
  );
});
