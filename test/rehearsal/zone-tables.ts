/** The zones' tables as an operator sees them who may do everything. */
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createDynamoTaskStore } from "../../lambdas/shared/engine/aws/task-store.ts";
import type { TaskItem, TaskStore } from "../../lambdas/shared/engine/ports.ts";
import type { Zone } from "../faults/real/plan.ts";
import type { World } from "./world.ts";

export type ZoneTables = {
  /** Throws where the zone has no table. */
  storeOf<T extends TaskItem>(request: { zone: Zone; parse: (json: unknown) => T }): TaskStore<T>;
  close(): void;
};

export const stackOf: Record<Zone, string> = { verification: "Verification", execution: "Execution" };

export function openZoneTables({ tablesUrl, resolver }: Pick<World, "tablesUrl" | "resolver">): ZoneTables {
  const client = new DynamoDBClient({
    endpoint: tablesUrl,
    region: "us-east-1",
    credentials: { accessKeyId: "emulator", secretAccessKey: "emulator" },
  });
  return {
    storeOf({ zone, parse }) {
      const tables = resolver.resources("AWS::DynamoDB::Table");
      const table = tables.find(({ label }) => label.startsWith(`${stackOf[zone]}/`));
      if (table === undefined) throw new Error(`The ${zone} zone has no table.`);
      return createDynamoTaskStore({ client, table: resolver.ref(table), parse });
    },
    close: () => client.destroy(),
  };
}
