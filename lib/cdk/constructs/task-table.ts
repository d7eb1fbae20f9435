/** The table of a zone's tasks. No index has an attribute that changes with each step of a task. */
import { AttributeType, BillingMode, ProjectionType, Table, TableEncryption } from "aws-cdk-lib/aws-dynamodb";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Construct } from "constructs";
import { taskTable } from "../../../lambdas/shared/engine/aws/table.ts";
import { removalPolicy } from "./zone-key.ts";

export function createTaskTable(
  scope: Construct,
  id: string,
  {
    key,
    production,
    hasPrincipals = false,
  }: {
    key: IKey;
    production: boolean;
    /** The zone lists what its callers asked for. */
    hasPrincipals?: boolean;
  },
): Table {
  const table = new Table(scope, id, {
    partitionKey: { name: taskTable.partitionKey, type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    timeToLiveAttribute: taskTable.ttlAttribute,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    encryption: TableEncryption.CUSTOMER_MANAGED,
    encryptionKey: key,
    deletionProtection: production,
    removalPolicy: removalPolicy({ production }),
  });
  const { shards, principals } = taskTable;
  for (const { indexName, partitionKey, sortKey } of hasPrincipals ? [shards, principals] : [shards]) {
    table.addGlobalSecondaryIndex({
      indexName,
      partitionKey: { name: partitionKey, type: AttributeType.STRING },
      sortKey: { name: sortKey, type: AttributeType.STRING },
      projectionType: ProjectionType.KEYS_ONLY,
    });
  }
  return table;
}
