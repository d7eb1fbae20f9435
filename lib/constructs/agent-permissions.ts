/** What the configured agent itself needs: the model that it asks, the key that it reads. */
import { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import type { AgentConfig } from "../../lambdas/shared/config/schema.ts";
import { readSecrets } from "./permissions.ts";

type BedrockAgent = Extract<AgentConfig, { type: "bedrock" }>;

export function agentPermissions(scope: Construct, agent: AgentConfig): PolicyStatement[] {
  if (typeof agent === "string") return [];
  if (agent.type === "bedrock") return bedrockPermissions(scope, agent);
  const { apiKey } = agent;
  return apiKey !== undefined && "secretsManager" in apiKey ? [readSecrets(scope, [apiKey.secretsManager])] : [];
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
 * A model of the region, or an inference profile and the model behind it in the regions that it may choose: those of its
 * own continent for `eu.` and the like, any for `global.`.
 */
function modelArns(stack: Stack, { modelId, region }: { modelId: string; region: string }): string[] {
  if (modelId.startsWith("arn:")) return [modelId, ...profileModels(stack, modelId.split("/").at(-1) ?? "")];
  const [, model] = profilePattern.exec(modelId) ?? [];
  if (model === undefined) return [foundationModel(stack, { model: modelId, region })];
  const profile = stack.formatArn({ service: "bedrock", region, resource: "inference-profile", resourceName: modelId });
  return [profile, ...profileModels(stack, modelId)];
}

const profilePattern = /^(?:us|us-gov|eu|apac|au|jp|ca|sa|me|af|global)\.(.+)$/;

function profileModels(stack: Stack, profile: string): string[] {
  const [, model] = profilePattern.exec(profile) ?? [];
  return model === undefined ? [] : [foundationModel(stack, { model, region: "*" })];
}

/** Models belong to no account. */
function foundationModel({ partition }: Stack, { model, region }: { model: string; region: string }): string {
  return `arn:${partition}:bedrock:${region}::foundation-model/${model}`;
}
