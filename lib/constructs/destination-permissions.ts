/** What the Verification zone must be permitted to reach its destinations: its own Execution zone, and those of the file. */
import { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import type { Config, Destination } from "../../lambdas/shared/config/schema.ts";
import type { ExecutionEntry } from "../execution-stack.ts";

/** The caller's half: across accounts the other account's policies must agree. */
export function destinationPermissions(
  scope: Construct,
  { config, entry }: { config: Config; entry: ExecutionEntry | undefined },
): PolicyStatement[] {
  const others = Object.values(config.destinations).flatMap((destination) => permissionsOf(scope, destination));
  return [...(entry === undefined ? [] : ownPermissions(entry)), ...others];
}

/** The bearer tokens of destinations. */
export function tokensOf({ destinations }: Pick<Config, "destinations">): string[] {
  return Object.values(destinations).flatMap((destination) => {
    if (destination.transport !== "https" || destination.authorizer.type !== "bearer") return [];
    const { token } = destination.authorizer;
    return "secretsManager" in token ? [token.secretsManager] : [];
  });
}

function ownPermissions({ address, arns }: ExecutionEntry): PolicyStatement[] {
  return address.transport === "agentcore"
    ? [invokeRuntime(arns, { stops: address.stopAfterResult })]
    : [...invokeFunctionUrl(arns)];
}

function permissionsOf(scope: Construct, destination: Destination): PolicyStatement[] {
  const stack = Stack.of(scope);
  if (destination.transport === "agentcore") {
    const { runtimeArn, qualifier, stopAfterResult } = destination;
    return [invokeRuntime([runtimeArn, `${runtimeArn}/runtime-endpoint/${qualifier}`], { stops: stopAfterResult })];
  }
  if (destination.transport !== "https" || destination.url === undefined) return [];
  if (destination.authorizer.type !== "sigv4") return [];
  const { service, region } = destination.authorizer;
  const [host = ""] = new URL(destination.url).hostname.split(".");
  // A Function URL's address does not say which function it is; that function's own policy decides who is let in.
  if (service === "lambda") return invokeFunctionUrl([`arn:${stack.partition}:lambda:${region}:*:function:*`]);
  if (service === "execute-api") {
    const resources = [`arn:${stack.partition}:execute-api:${region}:*:${host}/*`];
    return [new PolicyStatement({ actions: ["execute-api:Invoke"], resources })];
  }
  return [];
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
