/** Keeps the ledger in the zone's table. Each operation is one conditional write, so limits hold across all function instances. */
import type { AwsDependencies } from "@sekisho/runtime/aws/credentials.ts";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import { type DynamoDb, readConditionFailure } from "@sekisho/runtime/engine/aws/client.ts";
import { installKeyPrefix, taskTable } from "@sekisho/runtime/engine/aws/table.ts";
import { defaultMaxInstallsPerDay, formatInstallDay, type InstallLedger } from "./ledger.ts";

/** Longer than a state is valid, so that no state works twice. */
const stateSeconds = 3600;
const countSeconds = 3 * 86_400;
const callTimeoutMs = 3000;

/** Rejects with an AwsCallError or a network error. */
export function createTableLedger(options: {
  table: string;
  aws: AwsDependencies;
  maxPerDay?: number | undefined;
  now?: () => number;
}): InstallLedger {
  const { table, aws, maxPerDay = defaultMaxInstallsPerDay, now = Date.now } = options;
  const client: DynamoDb = createJsonClient({
    ...aws,
    service: "dynamodb",
    timeoutMs: callTimeoutMs,
  });

  /** Adds one to an item's count. Resolves to false if the count has already reached `max`. */
  async function addOne({
    key,
    max,
    ttlSeconds,
  }: {
    key: string;
    max: number;
    ttlSeconds: number;
  }): Promise<boolean> {
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
      await client.call("UpdateItem", input);
      return true;
    } catch (error) {
      if (readConditionFailure(error) !== undefined) return false;
      throw error;
    }
  }

  return {
    useState: ({ id }) => addOne({ key: `state#${id}`, max: 1, ttlSeconds: stateSeconds }),
    countInstallation: () =>
      addOne({ key: `day#${formatInstallDay(now())}`, max: maxPerDay, ttlSeconds: countSeconds }),
  };
}
