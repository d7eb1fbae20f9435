/** What `federation enable` and `federation show` print: the account's issuer, the roles, and what others must be told. */
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { roleNameOf } from "../../lib/names.ts";
import type { CommandRun } from "../commands/command.ts";
import { type Trust, trustsOf } from "./federation-trust.ts";
import type { NamedStage } from "./stage.ts";

export type FederationReport = {
  account: string;
  issuer: string;
  discovery: string;
  jwks: string;
  /** Of all stages; those in other accounts have another issuer. */
  roles: { stage: string; account: string; arn: string }[];
  destinations: Trust[];
};

export function federationReport({
  config,
  issuer,
  stageName,
  stage,
}: NamedStage & { config: Config; issuer: string }): FederationReport {
  const roles = Object.entries(config.stages).map(([name, { verification }]) => ({
    stage: name,
    account: verification.account,
    arn: roleArnOf({ stageName: name, ...verification }),
  }));
  const roleArn = roleArnOf({ stageName, ...stage.verification });
  return {
    account: stage.verification.account,
    issuer,
    discovery: `${issuer}/.well-known/openid-configuration`,
    jwks: `${issuer}/.well-known/jwks.json`,
    roles,
    destinations: trustsOf({ destinations: config.destinations, issuer, roleArn, stageName }),
  };
}

export function printReport({
  report,
  json,
  print,
}: { report: FederationReport; json: boolean } & Pick<CommandRun, "print">): void {
  if (json) {
    print(JSON.stringify(report));
    return;
  }
  const { account, issuer, discovery, jwks, roles, destinations } = report;
  print(`issuer     ${issuer}\ndiscovery  ${discovery}\nkeys       ${jwks}\n`);
  for (const { stage, account: other, arn } of roles) {
    print(
      `role of stage ${stage}  ${arn}${other === account ? "" : " (of another account, with an issuer of its own)"}`,
    );
  }
  if (destinations.length === 0) {
    print("\nNo destination has the authorizer web-identity, google or azure, so that nobody needs to be told yet.");
  }
  for (const { destination, authorizer, audience, lines } of destinations) {
    print([`\n${destination} (${authorizer}, audience ${audience})`, ...lines].join("\n"));
  }
}

function roleArnOf({ stageName, account, region }: { stageName: string; account: string; region: string }): string {
  return `arn:${partitionOf(region)}:iam::${account}:role/${roleNameOf({ stageName, zone: "Verification" })}`;
}

function partitionOf(region: string): string {
  if (region.startsWith("cn-")) return "aws-cn";
  return region.startsWith("us-gov-") ? "aws-us-gov" : "aws";
}
