/** What the Verification zone may ask of AWS STS: tokens for whoever trusts this account's issuer, and roles of other accounts. */
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { AuthorizerConfig } from "../../lambdas/shared/config/authorizer-schema.ts";
import { type WebIdentityRequest, webIdentityRequestOf } from "../../lambdas/shared/config/web-identity-request.ts";
import { acknowledge } from "./acknowledge.ts";

export function permitSts(role: IRole, { authorizers }: { authorizers: readonly AuthorizerConfig[] }): void {
  const tokens = tokenPermissions(authorizers.flatMap((authorizer) => webIdentityRequestOf(authorizer) ?? []));
  for (const statement of [...tokens, ...rolePermissions(authorizers)]) role.addToPrincipalPolicy(statement);
  if (tokens.length > 0)
    acknowledge(role, {
      findings: ["AwsSolutions-IAM5[Resource::*]"],
      reason: "GetWebIdentityToken knows no resource; conditions name audiences, algorithm and life of the tokens.",
    });
}

/** One statement for tokens of the same algorithm and life, whose audiences stand together. */
function tokenPermissions(requests: readonly WebIdentityRequest[]): PolicyStatement[] {
  const alike = Map.groupBy(requests, (request) => `${request.signingAlgorithm} ${request.durationSeconds}`);
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const audiences = [...new Set(group.map(({ audience }) => audience))];
    return new PolicyStatement({
      actions: ["sts:GetWebIdentityToken"],
      resources: ["*"],
      conditions: {
        "ForAllValues:StringEquals": { "sts:IdentityTokenAudience": audiences },
        // All values of none are in the list, too.
        Null: { "sts:IdentityTokenAudience": "false" },
        StringEquals: { "sts:SigningAlgorithm": first.signingAlgorithm },
        NumericLessThanEquals: { "sts:DurationSeconds": first.durationSeconds },
      },
    });
  });
}

function rolePermissions(authorizers: readonly AuthorizerConfig[]): PolicyStatement[] {
  return authorizers.flatMap((authorizer) => {
    if (authorizer.type !== "sigv4" || authorizer.assumeRoleArn === undefined) return [];
    const { assumeRoleArn, externalId } = authorizer;
    return new PolicyStatement({
      actions: ["sts:AssumeRole"],
      resources: [assumeRoleArn],
      ...(externalId === undefined ? {} : { conditions: { StringEquals: { "sts:ExternalId": externalId } } }),
    });
  });
}
