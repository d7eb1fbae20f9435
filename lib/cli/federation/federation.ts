/** The setting of an AWS account that lets STS issue tokens for other clouds. IAM has it, CloudFormation does not. */
import {
  EnableOutboundWebIdentityFederationCommand,
  GetOutboundWebIdentityFederationInfoCommand,
  IAMClient,
} from "@aws-sdk/client-iam";
import { formatVerificationRoleArn } from "@sekisho/cdk/names.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import { type AwsCall, AwsFailure, callAws, errorNameOf } from "../aws/aws-failure.ts";
import type { NamedStage } from "../aws/stage.ts";
import type { CommandRun } from "../command.ts";
import { listTrusts, type Trust } from "./federation-trust.ts";

/** Resolves to the account's issuer, and to undefined where it issues no tokens. */
export async function readIssuer({ region, signal }: AwsCall): Promise<string | undefined> {
  const iam = new IAMClient({ region, customUserAgent: sdkUserAgent });
  const { IssuerIdentifier, JwtVendingEnabled } = await callAws({
    doing: "look up whether the account issues tokens for other clouds",
    signal,
    call: (options) => iam.send(new GetOutboundWebIdentityFederationInfoCommand({}), options),
  }).catch((error) => {
    if (!errorNameOf(error).startsWith("FeatureDisabled")) throw error;
    return { IssuerIdentifier: undefined, JwtVendingEnabled: false };
  });
  return JwtVendingEnabled === false ? undefined : IssuerIdentifier;
}

/** May be repeated. `changed` is true if the setting was off before. */
export async function enableFederation({
  region,
  signal,
}: AwsCall): Promise<{ issuer: string; changed: boolean }> {
  const iam = new IAMClient({ region, customUserAgent: sdkUserAgent });
  const newIssuer = await callAws({
    doing: "let the account issue tokens for other clouds",
    signal,
    call: (options) => iam.send(new EnableOutboundWebIdentityFederationCommand({}), options),
  }).catch((error) => {
    if (errorNameOf(error).startsWith("FeatureEnabled")) return undefined;
    throw error;
  });
  const issuer = newIssuer?.IssuerIdentifier ?? (await readIssuer({ region, signal }));
  if (issuer === undefined)
    throw new AwsFailure(
      "AWS says that it is switched on, but names no issuer. Try again in a minute.",
    );
  return { issuer, changed: newIssuer !== undefined };
}

/** The account's issuer, the roles, and what other clouds must know to trust them. */
export type FederationReport = {
  account: string;
  issuer: string;
  discovery: string;
  jwks: string;
  /** The destinations of all stages. A stage in another account has another issuer. */
  roles: { stage: string; account: string; arn: string }[];
  destinations: Trust[];
};

type ReportSource = NamedStage & { config: Config; issuer: string };

export function federationReport({
  config,
  issuer,
  stageName,
  stage,
}: ReportSource): FederationReport {
  const roles = Object.entries(config.stages).map(([name, { verification }]) => {
    return {
      stage: name,
      account: verification.account,
      arn: formatVerificationRoleArn({ stageName: name, ...verification }),
    };
  });
  const roleArn = formatVerificationRoleArn({ stageName, ...stage.verification });
  return {
    account: stage.verification.account,
    issuer,
    discovery: `${issuer}/.well-known/openid-configuration`,
    jwks: `${issuer}/.well-known/jwks.json`,
    roles,
    destinations: listTrusts({ destinations: config.destinations, issuer, roleArn, stageName }),
  };
}

type ReportOutput = { report: FederationReport; json: boolean } & Pick<CommandRun, "print">;

export function printReport({ report, json, print }: ReportOutput): void {
  if (json) {
    print(JSON.stringify(report));
    return;
  }
  const { account, issuer, discovery, jwks, roles, destinations } = report;
  print(`issuer     ${issuer}\ndiscovery  ${discovery}\nkeys       ${jwks}\n`);
  for (const { stage, account: other, arn } of roles) {
    const elsewhere = other === account ? "" : " (of another account, with an issuer of its own)";
    print(`role of stage ${stage}  ${arn}${elsewhere}`);
  }
  if (destinations.length === 0) {
    print(
      "\nNo destination has the authorizer web-identity, google or azure, so no other cloud needs this yet.",
    );
  }
  for (const { destination, authorizer, audience, lines } of destinations) {
    print([`\n${destination} (${authorizer}, audience ${audience})`, ...lines].join("\n"));
  }
}
