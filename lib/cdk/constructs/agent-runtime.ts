/** The Execution zone as a Bedrock AgentCore Runtime: its role, its endpoint, and the policies that let the Verification zone call it. */
import { Duration, Stack } from "aws-cdk-lib";
import {
  AgentCoreRuntime,
  AgentRuntimeArtifact,
  CfnResourcePolicy,
  Runtime,
  type RuntimeEndpoint,
} from "aws-cdk-lib/aws-bedrockagentcore";
import { Effect, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { assetOptions } from "../bundle/entry.ts";
import { acknowledgeWildcards, permit, shownPartition } from "./permissions.ts";

/** Calls go through a named endpoint. The default endpoint is not a CloudFormation resource, so it cannot have a policy. */
const endpointName = "live";

type RuntimeProps = {
  /** Holds server.js. */
  folder: string;
  environment: Record<string, string>;
  role: Role;
  callerRoleArn: string;
  /** True if the caller may stop sessions. */
  stops: boolean;
  /** A session without a call and without a running task ends after this time. */
  idleSeconds: number;
  /** Every session ends after this time. The host gets the value too, so that it starts no task that it cannot finish. */
  maxLifetimeSeconds: number;
};

export function createAgentRuntime(
  scope: Construct,
  { folder, environment, role, callerRoleArn, stops, idleSeconds, maxLifetimeSeconds }: RuntimeProps,
): { runtime: Runtime; endpoint: RuntimeEndpoint } {
  const runtime = new Runtime(scope, "Runtime", {
    description: `Sekisho's Execution zone (${Stack.of(scope).stackName})`,
    agentRuntimeArtifact: AgentRuntimeArtifact.fromCodeAsset({
      path: folder,
      runtime: AgentCoreRuntime.NODE_22,
      entrypoint: ["server.js"],
      ...assetOptions,
    }),
    executionRole: role.withoutPolicyUpdates(),
    environmentVariables: { ...environment, SEKISHO_MAX_LIFETIME_SECONDS: String(maxLifetimeSeconds) },
    lifecycleConfiguration: {
      idleRuntimeSessionTimeout: Duration.seconds(idleSeconds),
      maxLifetime: Duration.seconds(maxLifetimeSeconds),
    },
  });
  // Without a version the endpoint would stay at the first version forever.
  const version = runtime.agentRuntimeVersion;
  const endpoint = runtime.addEndpoint(endpointName, version === undefined ? {} : { version });
  // AWS checks both policies on each call.
  const caller = { callerRoleArn, stops };
  permitCaller(scope, "RuntimePolicy", { ...caller, resourceArn: runtime.agentRuntimeArn });
  permitCaller(scope, "EndpointPolicy", { ...caller, resourceArn: endpoint.agentRuntimeEndpointArn });
  return { runtime, endpoint };
}

/** Makes the role that AWS documents ("Permissions for AgentCore Runtime"), without the permissions for containers and traces. */
export function createRuntimeRole(scope: Construct, { roleName }: { roleName: string }): Role {
  const { account, region, partition } = Stack.of(scope);
  const principal = new ServicePrincipal("bedrock-agentcore.amazonaws.com", {
    conditions: {
      StringEquals: { "aws:SourceAccount": account },
      ArnLike: { "aws:SourceArn": `arn:${partition}:bedrock-agentcore:${region}:${account}:*` },
    },
  });
  const role = new Role(scope, "ExecutionRole", { roleName, assumedBy: principal });
  const groupsIn = (shown: string) => `arn:${shown}:logs:${region}:${account}:log-group`;
  const ownGroups = ":/aws/bedrock-agentcore/runtimes/*";
  permit(
    role,
    new PolicyStatement({
      actions: ["logs:CreateLogGroup", "logs:DescribeLogStreams", "logs:CreateLogStream", "logs:PutLogEvents"],
      resources: [`${groupsIn(partition)}${ownGroups}`],
    }),
    new PolicyStatement({ actions: ["logs:DescribeLogGroups"], resources: [`${groupsIn(partition)}:*`] }),
  );
  const shown = groupsIn(shownPartition(role));
  acknowledgeWildcards(role, {
    resources: [`${shown}${ownGroups}`],
    reason: "AgentCore names the log group after the runtime, which does not exist yet when its role is created.",
  });
  acknowledgeWildcards(role, {
    resources: [`${shown}:*`],
    reason: "AgentCore lists log groups before it creates its own, and listing cannot be narrowed.",
  });
  return role;
}

function permitCaller(
  scope: Construct,
  id: string,
  { callerRoleArn, stops, resourceArn }: { callerRoleArn: string; stops: boolean; resourceArn: string },
): void {
  const [, partition, , , account] = callerRoleArn.split(":");
  const document = {
    Version: "2012-10-17",
    Statement: [
      {
        Sid: "VerificationZone",
        Effect: Effect.ALLOW,
        // A role as principal is stored by its id, so a role that is created again under this name would have no access.
        Principal: { AWS: `arn:${partition}:iam::${account}:root` },
        Condition: { ArnEquals: { "aws:PrincipalArn": callerRoleArn } },
        Action: ["bedrock-agentcore:InvokeAgentRuntime", ...(stops ? ["bedrock-agentcore:StopRuntimeSession"] : [])],
        Resource: resourceArn,
      },
    ],
  };
  new CfnResourcePolicy(scope, id, { resourceArn, policy: Stack.of(scope).toJsonString(document) });
}
