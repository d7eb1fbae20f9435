/** What the configured agent itself needs: the model that it asks, the key that it reads. */
import { Stack } from "aws-cdk-lib";
import { PolicyStatement, type Role } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import type { AgentConfig } from "../../../lambdas/shared/config/schema.ts";
import { acknowledge, shownPartition } from "./acknowledge.ts";
import { secretsPermission } from "./permissions.ts";

type BedrockAgent = Extract<AgentConfig, { type: "bedrock" }>;

/** Lets the role that the agent runs under do what the agent does. */
export function permitAgent(role: Role, agent: AgentConfig): void {
  for (const statement of permissionsOf(role, agent)) role.addToPolicy(statement);
  if (typeof agent !== "object" || agent.type !== "bedrock") return;
  acknowledge(role, {
    findings: profileModels(shownPartition(role), agent.modelId).map((arn) => `AwsSolutions-IAM5[Resource::${arn}]`),
    reason: "An inference profile chooses the region; the model is the one behind the profile and no other.",
  });
}

function permissionsOf(scope: Construct, agent: AgentConfig): PolicyStatement[] {
  if (typeof agent === "string") return [];
  if (agent.type === "bedrock") return bedrockPermissions(scope, agent);
  const { apiKey } = agent;
  return apiKey !== undefined && "secretsManager" in apiKey ? [secretsPermission(scope, [apiKey.secretsManager])] : [];
}

/** ConverseStream is permitted as InvokeModelWithResponseStream (Service Authorization Reference, Amazon Bedrock). */
function bedrockPermissions(scope: Construct, { modelId, region, guardrail }: BedrockAgent): PolicyStatement[] {
  const stack = Stack.of(scope);
  const at = region ?? stack.region;
  const invoke = new PolicyStatement({
    actions: ["bedrock:InvokeModelWithResponseStream"],
    resources: modelArns(stack, { modelId, region: at }),
  });
  if (guardrail === undefined) return [invoke];
  const resources = [
    guardrail.id.startsWith("arn:")
      ? guardrail.id
      : stack.formatArn({ service: "bedrock", region: at, resource: "guardrail", resourceName: guardrail.id }),
  ];
  return [invoke, new PolicyStatement({ actions: ["bedrock:ApplyGuardrail"], resources })];
}

/**
 * A model of the region; or an inference profile and the model behind it in every region that the profile may choose: those
 * of its own continent for `eu.` and the like, any for `global.`. An application's own profile is named by its ARN.
 */
function modelArns(stack: Stack, { modelId, region }: { modelId: string; region: string }): string[] {
  if (modelId.startsWith("arn:")) return [modelId, ...profileModels(stack.partition, modelId)];
  if (!profilePattern.test(modelId)) return [foundationModel(stack.partition, { model: modelId, region })];
  const profile = stack.formatArn({ service: "bedrock", region, resource: "inference-profile", resourceName: modelId });
  return [profile, ...profileModels(stack.partition, modelId)];
}

const profilePattern = /^(?:arn:.*\/)?(?:us|us-gov|eu|apac|au|jp|ca|sa|me|af|global)\.(.+)$/;

function profileModels(partition: string, profile: string): string[] {
  const [, model] = profilePattern.exec(profile) ?? [];
  return model === undefined ? [] : [foundationModel(partition, { model, region: "*" })];
}

/** Models belong to no account. */
function foundationModel(partition: string, { model, region }: { model: string; region: string }): string {
  return `arn:${partition}:bedrock:${region}::foundation-model/${model}`;
}
