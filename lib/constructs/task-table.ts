/** The table of a zone's tasks. */
import { AttributeType, BillingMode, ProjectionType, Table, TableEncryption } from "aws-cdk-lib/aws-dynamodb";
import type { IKey } from "aws-cdk-lib/aws-kms";
import type { Construct } from "constructs";
import { storeIndexes, taskTable } from "../../lambdas/shared/engine/aws/table.ts";
import { removalOf } from "./removal.ts";

export function createTaskTable(
  scope: Construct,
  id: string,
  { key, production }: { key: IKey; production: boolean },
): Table {
  const table = new Table(scope, id, {
    partitionKey: { name: taskTable.partitionKey, type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    timeToLiveAttribute: taskTable.ttlAttribute,
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    encryption: TableEncryption.CUSTOMER_MANAGED,
    encryptionKey: key,
    deletionProtection: production,
    removalPolicy: removalOf({ production }),
  });
  for (const index of storeIndexes) {
    table.addGlobalSecondaryIndex({
      indexName: taskTable.indexNames[index],
      partitionKey: { name: index, type: AttributeType.STRING },
      sortKey: { name: taskTable.indexSortKeys[index], type: AttributeType.STRING },
      projectionType: ProjectionType.KEYS_ONLY,
    });
  }
  return table;
}
