/** The permissions that the configured agent needs: to call its model, and to read the secret with its API key. */

import { type Agents, listAgents } from "@sekisho/config/agent-list.ts";
import type { AgentConfig } from "@sekisho/config/agent-schema.ts";
import { listAuthorizerSecrets } from "@sekisho/config/authorizer-needs.ts";
import {
  isRemote,
  type RemoteTarget,
  readAgentAddress,
  readAgentArn,
  resolveAgentAuthorizer,
} from "@sekisho/config/remote-agent.ts";
import { Stack } from "aws-cdk-lib";
import { PolicyStatement, type Role } from "aws-cdk-lib/aws-iam";
import {
  invokeHarness,
  invokeRuntime,
  invokeSigned,
  listSignedResources,
  permitCredentials,
} from "./authorizer-permissions.ts";
import { acknowledgeWildcards, permit, secretsPermission, shownPartition } from "./permissions.ts";

type BedrockAgent = Extract<AgentConfig, { type: "bedrock" }>;

/** Lets the role that runs the agents make their calls. */
export function permitAgents(role: Role, execution: Agents): void {
  for (const { agent } of listAgents(execution)) permitAgent(role, agent);
}

function permitAgent(role: Role, agent: AgentConfig): void {
  if (typeof agent === "string") return;
  if (agent.type === "bedrock") {
    permit(role, ...bedrockPermissions(role, agent));
    const models = modelsBehindProfile(agent.modelId);
    acknowledgeWildcards(role, {
      resources:
        models === undefined
          ? []
          : [foundationModels(shownPartition(role), { models, region: "*" })],
      reason:
        "An inference profile chooses the region and the model. The policy allows calls through that profile only.",
    });
    return;
  }
  if (isRemote(agent)) {
    permitRemoteAgent(role, agent);
    return;
  }
  const { apiKey } = agent;
  if (apiKey !== undefined && "secretsManager" in apiKey)
    permit(role, secretsPermission(role, [apiKey.secretsManager]));
}

function permitRemoteAgent(role: Role, agent: RemoteTarget): void {
  const { harnessArn, qualifier = "DEFAULT" } = agent;
  const arn = readAgentArn(agent);
  const authorizer = resolveAgentAuthorizer(agent);
  const secrets = listAuthorizerSecrets(authorizer).flatMap(({ reference }) =>
    "secretsManager" in reference ? [reference.secretsManager] : [],
  );
  if (secrets.length > 0) permit(role, secretsPermission(role, secrets));
  permitCredentials(role, [authorizer]);
  if (arn !== undefined && authorizer.type === "sigv4" && !authorizer.assumeRoleArn) {
    permit(
      role,
      harnessArn === undefined
        ? invokeRuntime([arn, `${arn}/runtime-endpoint/${qualifier}`], { stops: false })
        : invokeHarness([arn, `${arn}/harness-endpoint/${qualifier}`]),
    );
  }
  const { address } = readAgentAddress(agent) ?? {};
  const addresses = address === undefined ? [] : [address];
  const resources = listSignedResources(Stack.of(role).partition, { authorizer, addresses });
  permit(role, ...invokeSigned(resources));
  acknowledgeWildcards(role, {
    resources: listSignedResources(shownPartition(role), { authorizer, addresses }).filter((arn) =>
      arn.includes("*"),
    ),
    reason:
      "The address of an API holds its unique id but not its account. The API's own policy decides.",
  });
}

/** IAM checks ConverseStream as InvokeModelWithResponseStream (Service Authorization Reference, Amazon Bedrock). */
function bedrockPermissions(
  role: Role,
  { modelId, region, guardrail }: BedrockAgent,
): PolicyStatement[] {
  const stack = Stack.of(role);
  const at = region ?? stack.region;
  const invoke = invokeModel(stack, { modelId, region: at });
  if (guardrail === undefined) return invoke;
  const guardrailArn = guardrail.id.startsWith("arn:")
    ? guardrail.id
    : stack.formatArn({
        service: "bedrock",
        region: at,
        resource: "guardrail",
        resourceName: guardrail.id,
      });
  return [
    ...invoke,
    new PolicyStatement({ actions: ["bedrock:ApplyGuardrail"], resources: [guardrailArn] }),
  ];
}

/**
 * A plain model needs a permission in its region. An inference profile needs one for the profile, and one for its models in every region,
 * because the profile chooses the region. The models may be called through that profile only, as AWS documents it ("Prerequisites for
 * inference profiles").
 */
function invokeModel(
  stack: Stack,
  { modelId, region }: { modelId: string; region: string },
): PolicyStatement[] {
  const models = modelsBehindProfile(modelId);
  const actions = ["bedrock:InvokeModelWithResponseStream"];
  if (models === undefined) {
    const model = modelId.startsWith("arn:")
      ? modelId
      : foundationModels(stack.partition, { models: modelId, region });
    return [new PolicyStatement({ actions, resources: [model] })];
  }
  const profile = modelId.startsWith("arn:")
    ? modelId
    : stack.formatArn({
        service: "bedrock",
        region,
        resource: "inference-profile",
        resourceName: modelId,
      });
  return [
    new PolicyStatement({ actions, resources: [profile] }),
    new PolicyStatement({
      actions,
      resources: [foundationModels(stack.partition, { models, region: "*" })],
      conditions: { StringLike: { "bedrock:InferenceProfileArn": profile } },
    }),
  ];
}

const systemProfilePattern = /^(?:arn:.*\/)?(?:us|us-gov|eu|apac|au|jp|ca|sa|me|af|global)\.(.+)$/;

/**
 * Returns the model of a system inference profile, such as `eu.…` or `global.…`. The ARN of an application inference profile does not name
 * its model, so any model may be behind it. Undefined if the id is of no profile.
 */
function modelsBehindProfile(modelId: string): string | undefined {
  return /^arn:.*:application-inference-profile\//.test(modelId)
    ? "*"
    : systemProfilePattern.exec(modelId)?.[1];
}

/** The ARN of a model has no account. */
function foundationModels(
  partition: string,
  { models, region }: { models: string; region: string },
): string {
  return `arn:${partition}:bedrock:${region}::foundation-model/${models}`;
}
