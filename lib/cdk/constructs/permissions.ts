/** Permissions as the code needs them, one statement a resource: the grants of CDK give more than is called. */
import { Stack } from "aws-cdk-lib";
import type { ITable } from "aws-cdk-lib/aws-dynamodb";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { taskTable } from "../../../lambdas/shared/engine/aws/table.ts";
import { acknowledge, shownPartition } from "./acknowledge.ts";

/** The task store's calls; whoever `creates` no task puts no item. */
export function tablePermission(table: Pick<ITable, "tableArn">, { creates = true } = {}): PolicyStatement {
  return new PolicyStatement({
    actions: ["dynamodb:GetItem", "dynamodb:UpdateItem", ...(creates ? ["dynamodb:PutItem"] : [])],
    resources: [table.tableArn],
  });
}

/** The tasks of one caller, which are read one by one afterwards. */
export function taskListPermission(table: Pick<ITable, "tableArn">): PolicyStatement {
  const resources = [`${table.tableArn}/index/${taskTable.principals.indexName}`];
  return new PolicyStatement({ actions: ["dynamodb:Query"], resources });
}

/**
 * The key of what is stored and queued: whoever reads decrypts, whoever sends to a queue also makes data keys. Only the named
 * services may use it for the role: with the role's credentials alone nothing can be decrypted.
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
    conditions: { StringEquals: { "kms:ViaService": services.length === 1 ? services[0] : services } },
  });
}

export function sendPermission(...queues: IQueue[]): PolicyStatement {
  return new PolicyStatement({ actions: ["sqs:SendMessage"], resources: queues.map((queue) => queue.queueArn) });
}

/** What an event source does in the name of its function. */
export function consumePermission(...queues: IQueue[]): PolicyStatement {
  return new PolicyStatement({
    actions: ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
    resources: queues.map((queue) => queue.queueArn),
  });
}

/** A function that says itself when a message that failed comes again. */
export function retryPermission(queue: IQueue): PolicyStatement {
  return new PolicyStatement({ actions: ["sqs:ChangeMessageVisibility"], resources: [queue.queueArn] });
}

/** Secrets by name or ARN. To a name Secrets Manager adds six characters of its own. */
export function secretsPermission(scope: Construct, ids: readonly string[]): PolicyStatement {
  const resources = ids.map((id) =>
    id.startsWith("arn:")
      ? id
      : Stack.of(scope).formatArn({ service: "secretsmanager", resource: `secret:${id}-??????` }),
  );
  return new PolicyStatement({ actions: ["secretsmanager:GetSecretValue"], resources });
}

/**
 * For a secret that may be absent: of its name alone, since there are no six characters yet, so that AWS says that there is
 * none, and not that one may not ask.
 */
export function optionalSecretPermission(scope: Construct, id: string): PolicyStatement {
  const named = Stack.of(scope).formatArn({ service: "secretsmanager", resource: `secret:${id}` });
  return new PolicyStatement({
    actions: ["secretsmanager:GetSecretValue"],
    resources: [id.startsWith("arn:") ? id : named],
  });
}

/** Secrets whose names begin so, which come to be while the stage runs. */
export function permitReadSecretsBelow(role: IRole, prefix: string): void {
  permitBelow(role, { prefix, actions: ["secretsmanager:GetSecretValue"] });
}

/** To create one, or to write it anew, also one whose deletion was asked for; not to read it. */
export function permitStoreSecretsBelow(role: IRole, prefix: string): void {
  const operations = ["CreateSecret", "RestoreSecret", "PutSecretValue"];
  permitBelow(role, { prefix, actions: operations.map((operation) => `secretsmanager:${operation}`) });
}

function permitBelow(role: IRole, { prefix, actions }: { prefix: string; actions: string[] }): void {
  const stack = Stack.of(role);
  const arnIn = (partition: string) =>
    stack.formatArn({ partition, service: "secretsmanager", resource: `secret:${prefix}*` });
  role.addToPrincipalPolicy(new PolicyStatement({ actions, resources: [arnIn(stack.partition)] }));
  acknowledge(role, {
    findings: [`AwsSolutions-IAM5[Resource::${arnIn(shownPartition(role))}]`],
    reason: "Each workspace that installs the app gets a secret of its own below this prefix.",
  });
}

export function parameterPermission(scope: Construct, name: string): PolicyStatement {
  const resource = Stack.of(scope).formatArn({ service: "ssm", resource: "parameter", resourceName: name });
  return new PolicyStatement({ actions: ["ssm:GetParameter"], resources: [resource] });
}

// What a function or a runtime needs to send spans: the right to hand them to X-Ray, the secrets of a collector, or a layer.

/** X-Ray knows no resources; the first is what a collector calls, the others are what the OTLP endpoint asks for. */
const actions = ["xray:PutTraceSegments", "xray:PutSpans", "xray:PutSpansForIndexing"];

/** `layer`: there is a collector beside the function, which sends in its name. */
export function permitSpans(
  scope: Construct,
  { role, config, layer }: { role: IRole; config: Pick<Config, "telemetry">; layer?: string | undefined },
): void {
  const { exporter } = config.telemetry.traces;
  if (exporter.type === "otlp") {
    const secrets = Object.values(exporter.headers).flatMap((secret) =>
      "secretsManager" in secret ? [secret.secretsManager] : [],
    );
    if (secrets.length > 0) role.addToPrincipalPolicy(secretsPermission(scope, secrets));
  }
  if (exporter.type !== "xray" && layer === undefined) return;
  role.addToPrincipalPolicy(new PolicyStatement({ actions, resources: ["*"] }));
  acknowledge(role, { findings: ["AwsSolutions-IAM5[Resource::*]"], reason: "X-Ray has no resources to be named." });
}
