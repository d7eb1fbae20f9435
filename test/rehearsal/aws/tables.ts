/** The tables of the templates in the emulator. */
import type { Resolver } from "../template/resolve.ts";
import { emulatorHeaders } from "./emulator-headers.ts";
import type { Backend } from "./gateway.ts";

const copied = ["KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes"];

export async function createTables({ endpoint, resolver }: { endpoint: string; resolver: Resolver }): Promise<Backend> {
  for (const table of resolver.resources("AWS::DynamoDB::Table")) {
    const schema = Object.fromEntries(copied.map((name) => [name, table.properties[name]]));
    const input = { ...schema, TableName: resolver.ref(table), BillingMode: "PAY_PER_REQUEST" };
    const response = await post({ operation: "CreateTable", body: JSON.stringify(input) });
    if (!response.ok) throw new Error(`The emulator did not create ${table.label}: ${await response.text()}`);
  }

  function post({ operation, body, signal }: { operation: string; body: string; signal?: AbortSignal }) {
    const headers = {
      "content-type": "application/x-amz-json-1.0",
      "x-amz-target": `DynamoDB_20120810.${operation}`,
      ...emulatorHeaders("dynamodb"),
    };
    return fetch(endpoint, { method: "POST", headers, body, signal: signal ?? AbortSignal.timeout(10_000) });
  }

  return ({ call: { action }, received: { body, request } }) =>
    post({ operation: action.slice(9), body: Buffer.from(body).toString("utf8"), signal: request.signal });
}
