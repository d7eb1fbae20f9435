/** The permissions to make calls with an authorizer: to get its credentials, and to invoke what AWS protects. */

import { toWebIdentityRequest } from "@sekisho/config/authorizer-needs.ts";
import type { AuthorizerConfig } from "@sekisho/config/authorizer-schema.ts";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import { acknowledgeWildcards, permit } from "./permissions.ts";

/** Lets the role get tokens of AWS STS and assume roles as the authorizers do. */
export function permitCredentials(role: IRole, authorizers: readonly AuthorizerConfig[]): void {
  const tokens = tokenPermissions(authorizers);
  permit(role, ...tokens, ...assumePermissions(authorizers));
  if (tokens.length > 0)
    acknowledgeWildcards(role, {
      resources: ["*"],
      reason:
        "GetWebIdentityToken has no resource. Conditions limit the audience, algorithm and lifetime of tokens.",
    });
}

/**
 * Returns the ARNs that a signed call invokes: the configured function, or the API of the address. Empty if the call assumes
 * another role, because that role's own policies apply.
 */
export function listSignedResources(
  partition: string,
  { authorizer, addresses }: { authorizer: AuthorizerConfig; addresses: readonly string[] },
): string[] {
  if (authorizer.type !== "sigv4" || authorizer.assumeRoleArn !== undefined) return [];
  const { service, region, functionArn } = authorizer;
  if (functionArn !== undefined) return [functionArn];
  if (service !== "execute-api") return [];
  return addresses.map((address) => {
    const [apiId = ""] = new URL(address).hostname.split(".");
    return `arn:${partition}:execute-api:${region}:*:${apiId}/*`;
  });
}

/** The calls of those ARNs, which are all functions or all APIs. */
export function invokeSigned(resources: string[]): PolicyStatement[] {
  if (resources.length === 0) return [];
  if (resources[0]?.includes(":lambda:")) return invokeFunctionUrl(resources);
  return [new PolicyStatement({ actions: ["execute-api:Invoke"], resources })];
}

export function invokeRuntime(
  resources: string[],
  calls: Parameters<typeof listRuntimeActions>[0],
): PolicyStatement {
  return new PolicyStatement({ actions: listRuntimeActions(calls), resources });
}

/** `stops` is for a caller that stops sessions, `readsCard` for one that speaks A2A. */
export function listRuntimeActions({
  stops = false,
  readsCard = false,
}: {
  stops?: boolean;
  readsCard?: boolean;
}): string[] {
  return [
    "bedrock-agentcore:InvokeAgentRuntime",
    ...(stops ? ["bedrock-agentcore:StopRuntimeSession"] : []),
    ...(readsCard ? ["bedrock-agentcore:GetAgentCard"] : []),
  ];
}

/** AWS checks both actions with the ARN of the harness (AgentCore Developer Guide, "Security and access controls"). */
export function invokeHarness(resources: string[]): PolicyStatement {
  return new PolicyStatement({
    actions: ["bedrock-agentcore:InvokeHarness", "bedrock-agentcore:InvokeAgentRuntime"],
    resources,
  });
}

/** Since October 2025 a Function URL needs both actions. The condition limits the second one to calls through the URL. */
export function invokeFunctionUrl(resources: string[]): PolicyStatement[] {
  return [
    new PolicyStatement({
      actions: ["lambda:InvokeFunctionUrl"],
      resources,
      conditions: { StringEquals: { "lambda:FunctionUrlAuthType": "AWS_IAM" } },
    }),
    new PolicyStatement({
      actions: ["lambda:InvokeFunction"],
      resources,
      conditions: { Bool: { "lambda:InvokedViaFunctionUrl": "true" } },
    }),
  ];
}

/** Makes one statement per algorithm and lifetime of web identity tokens, with all audiences of such tokens. */
function tokenPermissions(authorizers: readonly AuthorizerConfig[]): PolicyStatement[] {
  const requests = authorizers.flatMap((authorizer) => toWebIdentityRequest(authorizer) ?? []);
  const alike = Map.groupBy(
    requests,
    (request) => `${request.signingAlgorithm} ${request.durationSeconds}`,
  );
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const audiences = [...new Set(group.map(({ audience }) => audience))];
    const tagPermissions = group.some(({ tags }) => tags) ? [permitTags()] : [];
    const tokens = new PolicyStatement({
      actions: ["sts:GetWebIdentityToken"],
      resources: ["*"],
      conditions: {
        "ForAllValues:StringEquals": { "sts:IdentityTokenAudience": audiences },
        // ForAllValues alone would also allow a request without any audience.
        Null: { "sts:IdentityTokenAudience": "false" },
        StringEquals: { "sts:SigningAlgorithm": first.signingAlgorithm },
        NumericLessThanEquals: { "sts:DurationSeconds": first.durationSeconds },
      },
    });
    return [tokens, ...tagPermissions];
  });
}

/** The request itself is permitted by `sts:GetWebIdentityToken`, with its own conditions. */
function permitTags(): PolicyStatement {
  return new PolicyStatement({
    actions: ["sts:TagGetWebIdentityToken"],
    resources: ["*"],
    conditions: {
      "ForAllValues:StringEquals": {
        "aws:TagKeys": ["slack_team", "slack_user", "slack_enterprise"],
      },
    },
  });
}

function assumePermissions(authorizers: readonly AuthorizerConfig[]): PolicyStatement[] {
  return authorizers.flatMap((authorizer) => {
    if (authorizer.type !== "sigv4" || authorizer.assumeRoleArn === undefined) return [];
    const { assumeRoleArn, externalId } = authorizer;
    return new PolicyStatement({
      actions: ["sts:AssumeRole"],
      resources: [assumeRoleArn],
      ...(externalId !== undefined && {
        conditions: { StringEquals: { "sts:ExternalId": externalId } },
      }),
    });
  });
}
