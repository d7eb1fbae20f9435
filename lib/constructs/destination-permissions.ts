/** What the Verification zone must be permitted to reach its destinations: its own Execution zone, and those of the file. */

import { Stack } from "aws-cdk-lib";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import type { AuthorizerConfig } from "../../lambdas/shared/config/authorizer-schema.ts";
import { secretsOfAuthorizer } from "../../lambdas/shared/config/authorizer-secrets.ts";
import { addressesOf, authorizerConfigOf, isOwnExecution } from "../../lambdas/shared/config/destination-address.ts";
import type { Destination } from "../../lambdas/shared/config/destination-schema.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import type { ExecutionEntry } from "../execution-stack.ts";
import { acknowledge, shownPartition } from "./acknowledge.ts";
import { permitSts } from "./sts-permissions.ts";

/** Lets the role call every destination. It is the caller's half: across accounts the other account's policies must agree. */
export function permitDestinations(
  role: IRole,
  { config, entry }: { config: Config; entry: ExecutionEntry | undefined },
): void {
  for (const statement of entry === undefined ? [] : ownPermissions(entry)) role.addToPrincipalPolicy(statement);
  for (const destination of Object.values(config.destinations)) {
    for (const statement of permissionsOf(role, destination)) role.addToPrincipalPolicy(statement);
    acknowledge(role, {
      findings: signedResources(shownPartition(role), destination).map((arn) => `AwsSolutions-IAM5[Resource::${arn}]`),
      reason:
        "An address does not say the account, nor a Function URL its function; the policy over there names this role.",
    });
  }
  permitSts(role, { authorizers: foreignAuthorizers(config) });
}

/** The secrets that authorize calls to destinations of the file, by name or ARN. */
export function destinationSecrets(config: Pick<Config, "destinations">): string[] {
  const references = foreignAuthorizers(config).flatMap(secretsOfAuthorizer);
  return references.flatMap(({ reference }) => ("secretsManager" in reference ? [reference.secretsManager] : []));
}

/** Those of destinations with an address of their own: a stage's own Execution zone is called by signature. */
function foreignAuthorizers({ destinations }: Pick<Config, "destinations">): AuthorizerConfig[] {
  const foreign = Object.values(destinations).filter((destination) => !isOwnExecution(destination));
  return foreign.flatMap((destination) => authorizerConfigOf(destination) ?? []);
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

/** What stands behind the address of a signed call, as far as the address tells. What another role may call, its account says. */
function signedResources(partition: string, destination: Destination): string[] {
  const authorizer = authorizerConfigOf(destination);
  if (authorizer?.type !== "sigv4" || authorizer.assumeRoleArn !== undefined) return [];
  const { service, region } = authorizer;
  return addressesOf(destination).flatMap(({ address }) => {
    const [host = ""] = new URL(address).hostname.split(".");
    if (service === "lambda") return [`arn:${partition}:lambda:${region}:*:function:*`];
    return service === "execute-api" ? [`arn:${partition}:execute-api:${region}:*:${host}/*`] : [];
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
