/** The Execution zone as a Bedrock AgentCore Runtime from bundled code, with an endpoint and the policies that let the other zone in. */
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
import { acknowledge, shownPartition } from "./acknowledge.ts";

/** Calls go through a named endpoint, since the unnamed one is no resource of CloudFormation and cannot have a policy. */
const endpointName = "live";

export type AgentRuntime = { runtime: Runtime; endpoint: RuntimeEndpoint };

export function createAgentRuntime(
  scope: Construct,
  {
    folder,
    environment,
    role,
    callerRoleArn,
    stops,
    idleSeconds,
    maxLifetimeSeconds,
  }: {
    /** Holds server.js. */
    folder: string;
    environment: Record<string, string>;
    role: Role;
    callerRoleArn: string;
    /** Whether the caller ends sessions. */
    stops: boolean;
    /** A session without a call and without a running task ends after this time. */
    idleSeconds: number;
    /** Any session ends after this time. The host must know it, so that it begins no task that it cannot finish. */
    maxLifetimeSeconds: number;
  },
): AgentRuntime {
  const runtime = new Runtime(scope, "Runtime", {
    description: `Sekisho's Execution zone (${Stack.of(scope).stackName})`,
    agentRuntimeArtifact: AgentRuntimeArtifact.fromCodeAsset({
      path: folder,
      runtime: AgentCoreRuntime.NODE_22,
      entrypoint: ["server.js"],
    }),
    executionRole: role.withoutPolicyUpdates(),
    environmentVariables: { ...environment, SEKISHO_MAX_LIFETIME_SECONDS: String(maxLifetimeSeconds) },
    lifecycleConfiguration: {
      idleRuntimeSessionTimeout: Duration.seconds(idleSeconds),
      maxLifetime: Duration.seconds(maxLifetimeSeconds),
    },
  });
  // Without a version the endpoint would stay at the first one for ever.
  const endpoint = runtime.addEndpoint(endpointName, {
    ...(runtime.agentRuntimeVersion === undefined ? {} : { version: runtime.agentRuntimeVersion }),
  });
  // AWS asks for both: one on the runtime, one on the endpoint.
  const caller = { callerRoleArn, stops };
  permitCaller(scope, "RuntimePolicy", { ...caller, resourceArn: runtime.agentRuntimeArn });
  permitCaller(scope, "EndpointPolicy", { ...caller, resourceArn: endpoint.agentRuntimeEndpointArn });
  return { runtime, endpoint };
}

/** Its role: what AWS says a runtime needs (devguide, "Permissions for AgentCore Runtime") without what only containers and traces do. */
export function createRuntimeRole(scope: Construct, { roleName }: { roleName: string }): Role {
  const { account, region, partition } = Stack.of(scope);
  const principal = new ServicePrincipal("bedrock-agentcore.amazonaws.com", {
    conditions: {
      StringEquals: { "aws:SourceAccount": account },
      ArnLike: { "aws:SourceArn": `arn:${partition}:bedrock-agentcore:${region}:${account}:*` },
    },
  });
  const role = new Role(scope, "ExecutionRole", { roleName, assumedBy: principal });
  const group = `arn:${partition}:logs:${region}:${account}:log-group`;
  role.addToPolicy(
    new PolicyStatement({
      actions: ["logs:CreateLogGroup", "logs:DescribeLogStreams", "logs:CreateLogStream", "logs:PutLogEvents"],
      resources: [`${group}:/aws/bedrock-agentcore/runtimes/*`],
    }),
  );
  role.addToPolicy(new PolicyStatement({ actions: ["logs:DescribeLogGroups"], resources: [`${group}:*`] }));
  const shown = `arn:${shownPartition(role)}:logs:${region}:${account}:log-group`;
  acknowledge(role, {
    findings: [`AwsSolutions-IAM5[Resource::${shown}:/aws/bedrock-agentcore/runtimes/*]`],
    reason: "AgentCore names the log group after the runtime, which is made under this role and so after it.",
  });
  acknowledge(role, {
    findings: [`AwsSolutions-IAM5[Resource::${shown}:*]`],
    reason: "AgentCore lists the log groups before it makes its own; listing cannot be narrowed.",
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
        // A policy that names a role as principal keeps the id of the role that was there, and locks out its successor.
        Principal: { AWS: `arn:${partition}:iam::${account}:root` },
        Condition: { ArnEquals: { "aws:PrincipalArn": callerRoleArn } },
        Action: ["bedrock-agentcore:InvokeAgentRuntime", ...(stops ? ["bedrock-agentcore:StopRuntimeSession"] : [])],
        Resource: resourceArn,
      },
    ],
  };
  new CfnResourcePolicy(scope, id, { resourceArn, policy: Stack.of(scope).toJsonString(document) });
}
