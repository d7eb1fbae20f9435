/** The permissions that the configured agent needs: to call its model, and to read the secret with its API key. */
import { Stack } from "aws-cdk-lib";
import { PolicyStatement, type Role } from "aws-cdk-lib/aws-iam";
import type { AgentConfig } from "../../../lambdas/shared/config/execution-schema.ts";
import { acknowledgeWildcards, permit, secretsPermission, shownPartition } from "./permissions.ts";

type BedrockAgent = Extract<AgentConfig, { type: "bedrock" }>;

/** Lets the role that runs the agent make the agent's calls. */
export function permitAgent(role: Role, agent: AgentConfig): void {
  if (typeof agent === "string") return;
  if (agent.type === "bedrock") {
    permit(role, ...bedrockPermissions(role, agent));
    acknowledgeWildcards(role, {
      resources: profileModels(shownPartition(role), agent.modelId),
      reason: "An inference profile chooses the region. The policy allows only the model of that profile.",
    });
    return;
  }
  const { apiKey } = agent;
  if (apiKey !== undefined && "secretsManager" in apiKey)
    permit(role, secretsPermission(role, [apiKey.secretsManager]));
}

/** IAM checks ConverseStream as InvokeModelWithResponseStream (Service Authorization Reference, Amazon Bedrock). */
function bedrockPermissions(role: Role, { modelId, region, guardrail }: BedrockAgent): PolicyStatement[] {
  const stack = Stack.of(role);
  const at = region ?? stack.region;
  const resources = modelArns(stack, { modelId, region: at });
  const invoke = new PolicyStatement({ actions: ["bedrock:InvokeModelWithResponseStream"], resources });
  if (guardrail === undefined) return [invoke];
  const guardrailArn = guardrail.id.startsWith("arn:")
    ? guardrail.id
    : stack.formatArn({ service: "bedrock", region: at, resource: "guardrail", resourceName: guardrail.id });
  return [invoke, new PolicyStatement({ actions: ["bedrock:ApplyGuardrail"], resources: [guardrailArn] })];
}

/**
 * Returns the ARNs that a call of the model needs. A plain model id needs the model in its region. An inference profile (such as
 * `eu.…` or `global.…`) needs the profile, and the model in every region, because the profile chooses the region. An
 * application inference profile is named by its ARN.
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

/** The ARN of a model has no account. */
function foundationModel(partition: string, { model, region }: { model: string; region: string }): string {
  return `arn:${partition}:bedrock:${region}::foundation-model/${model}`;
}
