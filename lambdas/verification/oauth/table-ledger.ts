/** The installation flow's ledger in the zone's table: one conditional write each, so that it holds across all instances. */
import type { AwsDependencies } from "../../shared/aws/credentials.ts";
import { AwsCallError, createJsonCall } from "../../shared/aws/json-call.ts";
import { installKeyPrefix, taskTable } from "../../shared/engine/aws/table.ts";
import { defaultMaxInstallsPerDay, formatInstallDay, type InstallLedger } from "./ledger.ts";

const stateSeconds = 3600;
const countSeconds = 3 * 86_400;

/** Rejects with an AwsCallError, or as the network does. */
export function createTableLedger({
  table,
  aws,
  maxPerDay = defaultMaxInstallsPerDay,
  now = Date.now,
  timeoutMs = 3000,
}: {
  table: string;
  aws: AwsDependencies;
  maxPerDay?: number | undefined;
  now?: () => number;
  timeoutMs?: number;
}): InstallLedger {
  const call = createJsonCall({ ...aws, service: "dynamodb", version: "1.0" });

  /** Adds one to an item's count unless the count has reached `max`. False where it had. */
  async function addOne({ key, max, ttlSeconds }: { key: string; max: number; ttlSeconds: number }): Promise<boolean> {
    const input = {
      TableName: table,
      Key: { [taskTable.partitionKey]: { S: `${installKeyPrefix}${key}` } },
      UpdateExpression: "ADD #count :one SET #ttl = :ttl",
      ConditionExpression: "attribute_not_exists(#count) OR #count < :max",
      ExpressionAttributeNames: { "#count": "count", "#ttl": taskTable.ttlAttribute },
      ExpressionAttributeValues: {
        ":one": { N: "1" },
        ":max": { N: String(max) },
        ":ttl": { N: String(Math.floor(now() / 1000) + ttlSeconds) },
      },
    };
    try {
      await call({ target: "DynamoDB_20120810.UpdateItem", input, signal: AbortSignal.timeout(timeoutMs) });
      return true;
    } catch (thrown) {
      if (thrown instanceof AwsCallError && thrown.name === "ConditionalCheckFailedException") return false;
      throw thrown;
    }
  }

  return {
    useState: ({ id }) => addOne({ key: `state#${id}`, max: 1, ttlSeconds: stateSeconds }),
    countInstallation: () =>
      addOne({ key: `day#${formatInstallDay(now())}`, max: maxPerDay, ttlSeconds: countSeconds }),
  };
}
