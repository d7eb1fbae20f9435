/** What the Verification zone must be permitted to reach its destinations: its own Execution zone, and those of the file. */
import { Stack } from "aws-cdk-lib";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import {
  type AuthorizerConfig,
  listAuthorizerSecrets,
  toWebIdentityRequest,
  type WebIdentityRequest,
} from "../../../lambdas/shared/config/authorizer-schema.ts";
import {
  isOwnExecution,
  listAddresses,
  resolveAuthorizerConfig,
} from "../../../lambdas/shared/config/destination-address.ts";
import type { Destination } from "../../../lambdas/shared/config/destination-schema.ts";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { ExecutionEntry } from "../stage-settings.ts";
import { acknowledge, shownPartition } from "./acknowledge.ts";

/** Lets the role call every destination. It is the caller's half: across accounts the other account's policies must agree. */
export function permitDestinations(
  role: IRole,
  { config, entry }: { config: Config; entry: ExecutionEntry | undefined },
): void {
  for (const statement of entry === undefined ? [] : ownPermissions(entry)) role.addToPrincipalPolicy(statement);
  for (const destination of Object.values(config.destinations)) {
    for (const statement of permissionsOf(role, destination)) role.addToPrincipalPolicy(statement);
    acknowledge(role, {
      findings: signedResources(shownPartition(role), destination)
        .filter((arn) => arn.includes("*"))
        .map((arn) => `AwsSolutions-IAM5[Resource::${arn}]`),
      reason:
        "The address of an API does not say its account, but its id, which is unique; the policy over there decides.",
    });
  }
  permitSts(role, { authorizers: foreignAuthorizers(config) });
}

/** The secrets that authorize calls to destinations of the file, by name or ARN. */
export function destinationSecrets(config: Pick<Config, "destinations">): string[] {
  const references = foreignAuthorizers(config).flatMap(listAuthorizerSecrets);
  return references.flatMap(({ reference }) => ("secretsManager" in reference ? [reference.secretsManager] : []));
}

/** Those of destinations with an address of their own: a stage's own Execution zone is called by signature. */
function foreignAuthorizers({ destinations }: Pick<Config, "destinations">): AuthorizerConfig[] {
  const foreign = Object.values(destinations).filter((destination) => !isOwnExecution(destination));
  return foreign.flatMap((destination) => resolveAuthorizerConfig(destination) ?? []);
}

function ownPermissions({ address, arns }: ExecutionEntry): PolicyStatement[] {
  return address.transport === "agentcore"
    ? [invokeRuntime(arns, { stops: address.stopAfterResult })]
    : [...invokeFunctionUrl(arns)];
}

function permissionsOf(scope: Construct, destination: Destination): PolicyStatement[] {
  if (destination.transport === "agentcore") {
    const { runtimeArn, qualifier, stopAfterResult } = destination;
    return [invokeRuntime([runtimeArn, `${runtimeArn}/runtime-endpoint/${qualifier}`], { stops: stopAfterResult })];
  }
  const resources = signedResources(Stack.of(scope).partition, destination);
  if (resources.length === 0) return [];
  if (resources[0]?.includes(":lambda:")) return invokeFunctionUrl(resources);
  return [new PolicyStatement({ actions: ["execute-api:Invoke"], resources })];
}

/** The resources of a signed call: the function that is named, or the API of the address. The permissions of an assumed role are in its own account. */
function signedResources(partition: string, destination: Destination): string[] {
  const authorizer = resolveAuthorizerConfig(destination);
  if (authorizer?.type !== "sigv4" || authorizer.assumeRoleArn !== undefined) return [];
  const { service, region, functionArn } = authorizer;
  if (functionArn !== undefined && !isOwnExecution(destination)) return [functionArn];
  if (service !== "execute-api") return [];
  return listAddresses(destination).map(({ address }) => {
    const [apiId = ""] = new URL(address).hostname.split(".");
    return `arn:${partition}:execute-api:${region}:*:${apiId}/*`;
  });
}

function invokeRuntime(resources: string[], { stops }: { stops: boolean }): PolicyStatement {
  const stop = stops ? ["bedrock-agentcore:StopRuntimeSession"] : [];
  return new PolicyStatement({ actions: ["bedrock-agentcore:InvokeAgentRuntime", ...stop], resources });
}

/** Both actions, since October 2025; the second only by way of the URL. */
function invokeFunctionUrl(resources: string[]): PolicyStatement[] {
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

// What the Verification zone may ask of AWS STS: tokens for whoever trusts this account's issuer, and roles of other accounts.

function permitSts(role: IRole, { authorizers }: { authorizers: readonly AuthorizerConfig[] }): void {
  const tokens = tokenPermissions(authorizers.flatMap((authorizer) => toWebIdentityRequest(authorizer) ?? []));
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
