/** Permissions as the code needs them, one statement a resource: the grants of CDK give more than is called. */
import { Stack } from "aws-cdk-lib";
import type { ITable } from "aws-cdk-lib/aws-dynamodb";
import { type IRole, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { taskTable } from "../../lambdas/shared/engine/aws/table.ts";
import { acknowledge, shownPartition } from "./acknowledge.ts";

/** The task store's calls; whoever `creates` no task puts no item. */
export function useTable(table: Pick<ITable, "tableArn">, { creates = true } = {}): PolicyStatement {
  return new PolicyStatement({
    actions: ["dynamodb:GetItem", "dynamodb:UpdateItem", ...(creates ? ["dynamodb:PutItem"] : [])],
    resources: [table.tableArn],
  });
}

/** The tasks of one caller, which are read one by one afterwards. */
export function listTasks(table: Pick<ITable, "tableArn">): PolicyStatement {
  const resources = [`${table.tableArn}/index/${taskTable.indexNames.principal}`];
  return new PolicyStatement({ actions: ["dynamodb:Query"], resources });
}

/** The key of what is stored and queued: whoever reads decrypts, whoever sends to a queue also makes data keys. */
export function useKey(key: IKey, { sends }: { sends: boolean }): PolicyStatement {
  return new PolicyStatement({
    actions: ["kms:Decrypt", ...(sends ? ["kms:GenerateDataKey"] : [])],
    resources: [key.keyArn],
  });
}

export function sendTo(...queues: IQueue[]): PolicyStatement {
  return new PolicyStatement({ actions: ["sqs:SendMessage"], resources: queues.map((queue) => queue.queueArn) });
}

/** What an event source does in the name of its function. */
export function consumeFrom(...queues: IQueue[]): PolicyStatement {
  return new PolicyStatement({
    actions: ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"],
    resources: queues.map((queue) => queue.queueArn),
  });
}

/** A function that says itself when a message that failed comes again. */
export function retryFrom(queue: IQueue): PolicyStatement {
  return new PolicyStatement({ actions: ["sqs:ChangeMessageVisibility"], resources: [queue.queueArn] });
}

/** Secrets by name or ARN. To a name Secrets Manager adds six characters of its own. */
export function readSecrets(scope: Construct, ids: readonly string[]): PolicyStatement {
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
export function askForSecret(scope: Construct, id: string): PolicyStatement {
  const named = Stack.of(scope).formatArn({ service: "secretsmanager", resource: `secret:${id}` });
  return new PolicyStatement({
    actions: ["secretsmanager:GetSecretValue"],
    resources: [id.startsWith("arn:") ? id : named],
  });
}

/** Secrets whose names begin so, which come to be while the stage runs. */
export function readSecretsBelow(role: IRole, prefix: string): void {
  permitBelow(role, { prefix, actions: ["secretsmanager:GetSecretValue"] });
}

/** To create one, or to write it anew, also one whose deletion was asked for; not to read it. */
export function storeSecretsBelow(role: IRole, prefix: string): void {
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

export function readParameter(scope: Construct, name: string): PolicyStatement {
  const resource = Stack.of(scope).formatArn({ service: "ssm", resource: "parameter", resourceName: name });
  return new PolicyStatement({ actions: ["ssm:GetParameter"], resources: [resource] });
}
