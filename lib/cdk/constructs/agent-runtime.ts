/** The Execution zone as a Bedrock AgentCore Runtime: its role, its endpoint, and the policies that let the Verification zone call it. */

import type { PlatformVersionName, Stage } from "@sekisho/config/stage-schema.ts";
import { Duration, Stack } from "aws-cdk-lib";
import {
  AgentCoreRuntime,
  AgentRuntimeArtifact,
  CfnResourcePolicy,
  PlatformVersion,
  ProtocolType,
  Runtime,
  type RuntimeEndpoint,
} from "aws-cdk-lib/aws-bedrockagentcore";
import { Effect, PolicyStatement, Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Key } from "aws-cdk-lib/aws-kms";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import type { Construct } from "constructs";
import { listRuntimeActions } from "./authorizer-permissions.ts";
import { bundleAsset } from "./bundle-asset.ts";
import { acknowledgeWildcards, permit, shownPartition } from "./permissions.ts";
import { removalPolicy } from "./storage.ts";

/** Calls go through a named endpoint. The default endpoint is not a CloudFormation resource, so it cannot have a policy. */
const endpointName = "live";
/** The port at which AgentCore expects the server of a runtime whose protocol is A2A, and the headers of A2A that it has to pass on. */
const a2aPort = "9000";
const a2aHeaders = ["A2A-Version", "A2A-Extensions", "X-A2A-Extensions"];
/** The header of the token that says who asked (`askerHeader`). AgentCore passes on only headers that the runtime lists. */
const askerHeaders = ["Sekisho-Asker"];
/** AgentCore writes what the server prints to the log group `PREFIX<runtime id>-<endpoint>`. The id is the name with a suffix. */
const groupPrefix = "/aws/bedrock-agentcore/runtimes/";

type RuntimeProps = {
  /** Holds server.js. */
  folder: string;
  key: Key;
  stage: Pick<Stage, "production" | "logRetentionDays">;
  environment: Record<string, string>;
  role: Role;
  callerRoleArn: string;
  /** True if the caller may stop sessions. */
  stops: boolean;
  /** ARNs of roles that may call the runtime as A2A clients. Undefined if the protocol of the runtime is HTTP. */
  a2aCallers: readonly string[] | undefined;
  /** True if the host verifies who asked. */
  verifiesAskers: boolean;
  /** A session without a call and without a running task ends after this time. */
  idleSeconds: number;
  /** Every session ends after this time. The host gets the value too, so that it starts no task that it cannot finish. */
  maxLifetimeSeconds: number;
  /** Named, because AWS may change the default of new runtimes. */
  platformVersion: PlatformVersionName;
};

export function createAgentRuntime(
  scope: Construct,
  {
    folder,
    key,
    stage,
    environment,
    role,
    callerRoleArn,
    stops,
    a2aCallers,
    verifiesAskers,
    idleSeconds,
    maxLifetimeSeconds,
    platformVersion,
  }: RuntimeProps,
): { runtime: Runtime; endpoint: RuntimeEndpoint } {
  const allowlistedHeaders = [
    ...(a2aCallers ? a2aHeaders : []),
    ...(verifiesAskers ? askerHeaders : []),
  ];
  const runtime = new Runtime(scope, "Runtime", {
    description: `Sekisho's Execution zone (${Stack.of(scope).stackName})`,
    agentRuntimeArtifact: AgentRuntimeArtifact.fromCodeAsset({
      path: folder,
      runtime: AgentCoreRuntime.NODE_22,
      entrypoint: ["server.js"],
      ...bundleAsset(folder),
    }),
    executionRole: role.withoutPolicyUpdates(),
    platformVersion: PlatformVersion[platformVersion],
    environmentVariables: {
      ...environment,
      SEKISHO_MAX_LIFETIME_SECONDS: String(maxLifetimeSeconds),
      ...(a2aCallers && {
        SEKISHO_EXECUTION_PORT: a2aPort,
        SEKISHO_RUNTIME_ENDPOINT: endpointName,
      }),
    },
    ...(a2aCallers && { protocolConfiguration: ProtocolType.A2A }),
    ...(allowlistedHeaders.length > 0 && { requestHeaderConfiguration: { allowlistedHeaders } }),
    lifecycleConfiguration: {
      idleRuntimeSessionTimeout: Duration.seconds(idleSeconds),
      maxLifetime: Duration.seconds(maxLifetimeSeconds),
    },
  });
  // Without a version the endpoint would stay at the first version forever.
  const version = runtime.agentRuntimeVersion;
  const endpoint = runtime.addEndpoint(endpointName, version === undefined ? {} : { version });
  // AgentCore looks for the group at the first call of the endpoint.
  endpoint.node.addDependency(createRuntimeLogs(scope, { runtime, role, key, stage }));
  // AWS checks both policies on each call.
  const callers = [
    { sid: "VerificationZone", roleArn: callerRoleArn, actions: listRuntimeActions({ stops }) },
    ...(a2aCallers ?? []).map((roleArn, index) => {
      return {
        sid: `A2aClient${index}`,
        roleArn,
        actions: listRuntimeActions({ readsCard: true }),
      };
    }),
  ];
  permitCallers(scope, "RuntimePolicy", { callers, resourceArn: runtime.agentRuntimeArn });
  permitCallers(scope, "EndpointPolicy", {
    callers,
    resourceArn: endpoint.agentRuntimeEndpointArn,
  });
  return { runtime, endpoint };
}

/**
 * Declares the log group of the endpoint, and lets the role write to it, with the permissions that AWS documents ("Permissions for AgentCore
 * Runtime"). The role cannot make log groups, because one that AgentCore makes has no retention and no key of ours.
 */
function createRuntimeLogs(
  scope: Construct,
  {
    runtime,
    role,
    key,
    stage,
  }: { runtime: Runtime } & Pick<RuntimeProps, "role" | "key" | "stage">,
): LogGroup {
  const { account, region, partition } = Stack.of(scope);
  const groupsIn = (partition: string) => `arn:${partition}:logs:${region}:${account}:log-group:`;
  // The key and the role exist before the runtime has its id, which is its name with a suffix.
  const ownGroups = `${groupPrefix}${String(Stack.of(scope).resolve(runtime.agentRuntimeName))}-*`;
  key.addToResourcePolicy(
    new PolicyStatement({
      principals: [new ServicePrincipal(`logs.${region}.amazonaws.com`)],
      actions: [
        "kms:Encrypt*",
        "kms:Decrypt*",
        "kms:ReEncrypt*",
        "kms:GenerateDataKey*",
        "kms:Describe*",
      ],
      resources: ["*"],
      conditions: {
        ArnLike: { "kms:EncryptionContext:aws:logs:arn": `${groupsIn(partition)}${ownGroups}` },
      },
    }),
  );
  permit(
    role,
    new PolicyStatement({
      actions: ["logs:DescribeLogStreams", "logs:CreateLogStream", "logs:PutLogEvents"],
      resources: [`${groupsIn(partition)}${ownGroups}`],
    }),
    new PolicyStatement({
      actions: ["logs:DescribeLogGroups"],
      resources: [`${groupsIn(partition)}*`],
    }),
  );
  const logGroups = groupsIn(shownPartition(role));
  acknowledgeWildcards(role, {
    resources: [`${logGroups}${ownGroups}`],
    reason:
      "AgentCore adds a suffix to the runtime's name when it makes the runtime, which needs the role before.",
  });
  acknowledgeWildcards(role, {
    resources: [`${logGroups}*`],
    reason:
      "AgentCore looks for the log group before it writes to it, and listing cannot be narrowed.",
  });
  return new LogGroup(scope, "RuntimeLogs", {
    logGroupName: `${groupPrefix}${runtime.agentRuntimeId}-${endpointName}`,
    retention: stage.logRetentionDays,
    encryptionKey: key,
    removalPolicy: removalPolicy(stage),
  });
}

/** Makes the role that the runtime runs under. Only AgentCore runtimes of this account may take it. */
export function createRuntimeRole(scope: Construct, { roleName }: { roleName: string }): Role {
  const { account, region, partition } = Stack.of(scope);
  const principal = new ServicePrincipal("bedrock-agentcore.amazonaws.com", {
    conditions: {
      StringEquals: { "aws:SourceAccount": account },
      ArnLike: { "aws:SourceArn": `arn:${partition}:bedrock-agentcore:${region}:${account}:*` },
    },
  });
  return new Role(scope, "ExecutionRole", { roleName, assumedBy: principal });
}

type Caller = { sid: string; roleArn: string; actions: string[] };

function permitCallers(
  scope: Construct,
  id: string,
  { callers, resourceArn }: { callers: readonly Caller[]; resourceArn: string },
): void {
  const document = {
    Version: "2012-10-17",
    Statement: callers.map(({ sid, roleArn, actions }) => {
      const [, partition, , , account] = roleArn.split(":");
      return {
        Sid: sid,
        Effect: Effect.ALLOW,
        // A role as principal is stored by its id, so a role that is created again under this name would have no access.
        Principal: { AWS: `arn:${partition}:iam::${account}:root` },
        Condition: { ArnEquals: { "aws:PrincipalArn": roleArn } },
        Action: actions,
        Resource: resourceArn,
      };
    }),
  };
  new CfnResourcePolicy(scope, id, { resourceArn, policy: Stack.of(scope).toJsonString(document) });
}
