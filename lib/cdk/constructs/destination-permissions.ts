/** The permissions that the Verification zone needs to call its own Execution zone and the destinations of the configuration. */

import { listAuthorizerSecrets, toWebIdentityRequest } from "@sekisho/config/authorizer-needs.ts";
import type { AuthorizerConfig } from "@sekisho/config/authorizer-schema.ts";
import {
  isOwnExecution,
  listAddresses,
  resolveAuthorizerConfig,
} from "@sekisho/config/destination-address.ts";
import type { Destination } from "@sekisho/config/destination-schema.ts";
import type { Config } from "@sekisho/config/schema.ts";
import { Stack } from "aws-cdk-lib";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { ExecutionEntry } from "../stage-settings.ts";
import { acknowledgeWildcards, permit, shownPartition } from "./permissions.ts";

/** Lets the role call every destination. For a destination in another account, that account's policies must allow it too. */
export function permitDestinations(
  role: IRole,
  { config, entry }: { config: Config; entry: ExecutionEntry | undefined },
): void {
  if (entry?.address.transport === "agentcore")
    permit(role, invokeRuntime(entry.arns, { stops: entry.address.stopAfterResult }));
  else if (entry !== undefined) permit(role, ...invokeFunctionUrl(entry.arns));
  for (const destination of Object.values(config.destinations)) {
    permit(role, ...destinationPermissions(role, destination));
    acknowledgeWildcards(role, {
      resources: signedResources(shownPartition(role), destination).filter((arn) =>
        arn.includes("*"),
      ),
      reason:
        "The address of an API holds its unique id but not its account. The API's own policy decides.",
    });
  }
  const authorizers = foreignAuthorizers(config);
  const tokens = tokenPermissions(authorizers);
  permit(role, ...tokens, ...assumePermissions(authorizers));
  if (tokens.length > 0)
    acknowledgeWildcards(role, {
      resources: ["*"],
      reason:
        "GetWebIdentityToken has no resource. Conditions limit the audience, algorithm and lifetime of tokens.",
    });
}

/** Returns the names or ARNs of the secrets that authorize calls to other destinations than the stage's own Execution zone. */
export function destinationSecrets(config: Pick<Config, "destinations">): string[] {
  const references = foreignAuthorizers(config).flatMap(listAuthorizerSecrets);
  return references.flatMap(({ reference }) =>
    "secretsManager" in reference ? [reference.secretsManager] : [],
  );
}

/** Leaves out the stage's own Execution zone, because calls to it are signed with the role's credentials. */
function foreignAuthorizers({ destinations }: Pick<Config, "destinations">): AuthorizerConfig[] {
  const foreign = Object.values(destinations).filter((destination) => !isOwnExecution(destination));
  return foreign.flatMap((destination) => resolveAuthorizerConfig(destination) ?? []);
}

function destinationPermissions(role: IRole, destination: Destination): PolicyStatement[] {
  if (destination.transport === "agentcore") {
    const { runtimeArn, qualifier, stopAfterResult } = destination;
    return [
      invokeRuntime([runtimeArn, `${runtimeArn}/runtime-endpoint/${qualifier}`], {
        stops: stopAfterResult,
      }),
    ];
  }
  const resources = signedResources(Stack.of(role).partition, destination);
  if (resources.length === 0) return [];
  if (resources[0]?.includes(":lambda:")) return invokeFunctionUrl(resources);
  return [new PolicyStatement({ actions: ["execute-api:Invoke"], resources })];
}

/**
 * Returns the ARNs that a signed call invokes: the configured function, or the API of the address. Empty if the call assumes
 * another role, because that role's own policies apply.
 */
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
  return new PolicyStatement({
    actions: ["bedrock-agentcore:InvokeAgentRuntime", ...stop],
    resources,
  });
}

/** Since October 2025 a Function URL needs both actions. The condition limits the second one to calls through the URL. */
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
    return new PolicyStatement({
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
