/** IAM statements for exactly the calls that the code makes (CDK's grants allow more), and accepted findings of cdk-nag. */

import type { Config } from "@sekisho/config/schema.ts";
import { taskTable } from "@sekisho/runtime/engine/aws/table.ts";
import { Stack, Token, Validations } from "aws-cdk-lib";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { type IGrantable, type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct, IConstruct } from "constructs";

/** Adds statements to the role, or to the role of a function. */
export function permit({ grantPrincipal }: IGrantable, ...statements: PolicyStatement[]): void {
  for (const statement of statements) grantPrincipal.addToPrincipalPolicy(statement);
}

/** Allows the calls of a task store. Without `creates` the role cannot put new items. */
export function tablePermission(table: Table, { creates = true } = {}): PolicyStatement {
  return new PolicyStatement({
    actions: ["dynamodb:GetItem", "dynamodb:UpdateItem", ...(creates ? ["dynamodb:PutItem"] : [])],
    resources: [table.tableArn],
  });
}

/** Allows listing the task ids of one caller or one person. Each task is then read by its id. */
export function taskListPermission(table: Table): PolicyStatement {
  const resources = [`${table.tableArn}/index/${taskTable.principals.indexName}`];
  return new PolicyStatement({ actions: ["dynamodb:Query"], resources });
}

/**
 * Allows the use of the zone's key. A reader decrypts, and a sender to a queue also generates data keys. The key works only
 * through the named services, so that stolen credentials of the role cannot decrypt data directly.
 */
export function keyPermission(
  key: IKey,
  { sends, through }: { sends: boolean; through: readonly ("dynamodb" | "s3" | "sqs")[] },
): PolicyStatement {
  const { region, urlSuffix } = Stack.of(key);
  const services = through.map((service) => `${service}.${region}.${urlSuffix}`);
  return new PolicyStatement({
    actions: ["kms:Decrypt", ...(sends ? ["kms:GenerateDataKey"] : [])],
    resources: [key.keyArn],
    conditions: {
      StringEquals: { "kms:ViaService": services.length === 1 ? services[0] : services },
    },
  });
}

export function sendPermission(...queues: IQueue[]): PolicyStatement {
  return new PolicyStatement({
    actions: ["sqs:SendMessage"],
    resources: queues.map(({ queueArn }) => queueArn),
  });
}

/** Allows the calls that an event source makes with the role of its function. */
export function consumePermission(...queues: IQueue[]): PolicyStatement {
  return new PolicyStatement({
    actions: ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
    resources: queues.map(({ queueArn }) => queueArn),
  });
}

/** Lets a function choose when a failed message is delivered again. */
export function retryPermission(queue: IQueue): PolicyStatement {
  return new PolicyStatement({
    actions: ["sqs:ChangeMessageVisibility"],
    resources: [queue.queueArn],
  });
}

/** Allows reading a parameter and its former values. */
export function parameterPermission(scope: Construct, name: string): PolicyStatement {
  const resource = Stack.of(scope).formatArn({
    service: "ssm",
    resource: "parameter",
    resourceName: name,
  });
  return new PolicyStatement({
    actions: ["ssm:GetParameter", "ssm:GetParameterHistory"],
    resources: [resource],
  });
}

/** Allows reading secrets by name or ARN. The question marks match the six characters that Secrets Manager adds to a name. */
export function secretsPermission(scope: Construct, ids: readonly string[]): PolicyStatement {
  const resources = ids.map((id) => secretArn(scope, id, "-??????"));
  return new PolicyStatement({ actions: ["secretsmanager:GetSecretValue"], resources });
}

/**
 * Allows asking for a secret that may not exist. AWS checks a missing secret by its plain name, without the six characters.
 * Without this permission it would answer "access denied" instead of "not found".
 */
export function optionalSecretPermission(scope: Construct, id: string): PolicyStatement {
  return new PolicyStatement({
    actions: ["secretsmanager:GetSecretValue"],
    resources: [secretArn(scope, id)],
  });
}

function secretArn(scope: Construct, id: string, suffix = ""): string {
  if (id.startsWith("arn:")) return id;
  return Stack.of(scope).formatArn({
    service: "secretsmanager",
    resource: `secret:${id}${suffix}`,
  });
}

/** Lets the role read the secrets below a prefix, which are created while the stage runs. */
export function permitReadSecretsBelow(role: IRole, prefix: string): void {
  permitSecretsBelow(role, { prefix, operations: ["GetSecretValue"] });
}

/** Lets the role create and overwrite secrets below a prefix, including deleted ones that can be restored. It cannot read them. */
export function permitStoreSecretsBelow(role: IRole, prefix: string): void {
  permitSecretsBelow(role, {
    prefix,
    operations: ["CreateSecret", "RestoreSecret", "PutSecretValue"],
  });
}

function permitSecretsBelow(
  role: IRole,
  { prefix, operations }: { prefix: string; operations: string[] },
): void {
  const stack = Stack.of(role);
  const arnIn = (partition: string) =>
    stack.formatArn({ partition, service: "secretsmanager", resource: `secret:${prefix}*` });
  const actions = operations.map((operation) => `secretsmanager:${operation}`);
  permit(role, new PolicyStatement({ actions, resources: [arnIn(stack.partition)] }));
  acknowledgeWildcards(role, {
    resources: [arnIn(shownPartition(role))],
    reason: "Each workspace that installs the app gets its own secret below this prefix.",
  });
}

/** The first action is for a collector, the others are for the OTLP endpoint. X-Ray has no resource ARNs. */
const spanActions = ["xray:PutTraceSegments", "xray:PutSpans", "xray:PutSpansForIndexing"];

/** Lets a role send spans to the configured exporter. `layer` is a collector that sends to X-Ray under the same role. */
export function permitSpans(
  role: IRole,
  { config, layer }: { config: Pick<Config, "telemetry">; layer?: string | undefined },
): void {
  const { exporter } = config.telemetry.traces;
  if (exporter.type === "otlp") {
    const secrets = Object.values(exporter.headers).flatMap((secret) =>
      "secretsManager" in secret ? [secret.secretsManager] : [],
    );
    if (secrets.length > 0) permit(role, secretsPermission(role, secrets));
  }
  if (exporter.type !== "xray" && layer === undefined) return;
  permit(role, new PolicyStatement({ actions: spanActions, resources: ["*"] }));
  acknowledgeWildcards(role, { resources: ["*"], reason: "X-Ray has no resource ARNs." });
}

/** Accepts findings of cdk-nag for a construct. `findings` are ids such as `AwsSolutions-APIG4`, with any part in brackets. */
export function acknowledge(
  construct: IConstruct,
  { findings, reason }: { findings: string[]; reason: string },
): void {
  for (const id of findings) Validations.of(construct).acknowledge({ id, reason });
}

/** Accepts policies that name resources by a wildcard. */
export function acknowledgeWildcards(
  construct: IConstruct,
  { resources, reason }: { resources: string[]; reason: string },
): void {
  acknowledge(construct, {
    findings: resources.map((arn) => `AwsSolutions-IAM5[Resource::${arn}]`),
    reason,
  });
}

/** Returns the partition as findings of cdk-nag write it. */
export function shownPartition(construct: IConstruct): string {
  const { partition } = Stack.of(construct);
  return Token.isUnresolved(partition) ? "<AWS::Partition>" : partition;
}
