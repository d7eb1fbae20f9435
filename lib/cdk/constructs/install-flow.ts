/** The installation flow of Slack's OAuth: a function with a role of its own, which stores tokens but cannot read one, and writes no item of the table but its own. */
import { Duration } from "aws-cdk-lib";
import type { ITable } from "aws-cdk-lib/aws-dynamodb";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import type { SecretReference } from "../../../lambdas/shared/config/values.ts";
import { installKeyPrefix } from "../../../lambdas/shared/engine/aws/table.ts";
import { createNodeFunction } from "./node-function.ts";
import { keyPermission, permitStoreSecretsBelow, secretsPermission } from "./permissions.ts";

/** More than Slack and Secrets Manager may take together. */
const timeout = Duration.seconds(20);
const memoryMb = 256;

export function createInstallFlow(
  scope: Construct,
  {
    clientId,
    clientSecret,
    prefix,
    table,
    key,
    slackApiUrl,
    folder,
    ...common
  }: {
    clientId: string;
    clientSecret: Extract<SecretReference, { secretsManager: string }>;
    /** Where the names of the installations' secrets begin. */
    prefix: string;
    /** The zone's table, for the states that were used and the installations of a day. */
    table: Pick<ITable, "tableArn" | "tableName">;
    key: IKey;
    slackApiUrl: string;
    folder: string;
    production: boolean;
    logs: Record<string, string>;
    logRetentionDays: number;
  },
): IFunction {
  const flow = createNodeFunction(scope, "InstallFlow", {
    ...common,
    description: "Installs the Slack app into a workspace",
    folder,
    environment: {
      SEKISHO_CLIENT_ID: clientId,
      SEKISHO_CLIENT_SECRET: clientSecret.secretsManager,
      SEKISHO_INSTALLATIONS_PREFIX: prefix,
      SEKISHO_TABLE: table.tableName,
      SEKISHO_SLACK_API_URL: slackApiUrl,
    },
    timeout,
    memoryMb,
  });
  flow.addToRolePolicy(secretsPermission(scope, [clientSecret.secretsManager]));
  flow.addToRolePolicy(
    new PolicyStatement({
      actions: ["dynamodb:UpdateItem"],
      resources: [table.tableArn],
      conditions: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": [`${installKeyPrefix}*`] } },
    }),
  );
  flow.addToRolePolicy(keyPermission(key, { sends: false, through: ["dynamodb"] }));
  if (flow.role !== undefined) permitStoreSecretsBelow(flow.role, prefix);
  return flow;
}
