/** The Execution zone's half of the completion push: where its role sends to, and what it is permitted for that. */
import { Stack } from "aws-cdk-lib";
import { PolicyStatement, type Role } from "aws-cdk-lib/aws-iam";
import { completionQueueNameOf } from "../names.ts";
import type { StageSettings } from "../stage-settings.ts";
import { acknowledge, shownPartition } from "./acknowledge.ts";

/** The variable for whatever runs under the role, which is permitted to push. */
export function permitCompletionPush(
  role: Role,
  { stageName, stage: { verification } }: Pick<StageSettings, "stageName" | "stage">,
): Record<string, string> {
  const stack = Stack.of(role);
  const { account, region } = verification;
  const queueName = completionQueueNameOf({ stageName });
  const queueArn = stack.formatArn({ service: "sqs", account, region, resource: queueName });
  role.addToPolicy(new PolicyStatement({ actions: ["sqs:SendMessage"], resources: [queueArn] }));
  const key = (partition: string) => `arn:${partition}:kms:${region}:${account}:key/*`;
  role.addToPolicy(
    new PolicyStatement({
      actions: ["kms:GenerateDataKey", "kms:Decrypt"],
      resources: [key(stack.partition)],
      conditions: { StringEquals: { "kms:ViaService": `sqs.${region}.${stack.urlSuffix}` } },
    }),
  );
  acknowledge(role, {
    findings: [`AwsSolutions-IAM5[Resource::${key(shownPartition(role))}]`],
    reason:
      "The key is made after this role. Only SQS may use it for the role, which may send to one queue; the key's policy names the role.",
  });
  return { SEKISHO_COMPLETIONS_URL: `https://sqs.${region}.${stack.urlSuffix}/${account}/${queueName}` };
}
