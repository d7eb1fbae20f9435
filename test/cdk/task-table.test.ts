/** The table of tasks as CloudFormation creates it, held against how the store lists. */
import { describe, expect, it } from "@jest/globals";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Key } from "aws-cdk-lib/aws-kms";
import { createTaskTable } from "../../lib/cdk/constructs/task-table.ts";

describe("the table of tasks", () => {
  const indexesOf = (options: { hasPrincipals?: boolean }) => {
    const stack = new Stack(new App(), "Zone");
    createTaskTable(stack, "Tasks", { key: new Key(stack, "Key"), production: false, ...options });
    const [table] = Object.values(Template.fromStack(stack).findResources("AWS::DynamoDB::Table"));
    return table?.Properties.GlobalSecondaryIndexes;
  };
  const index = (name: string, sortKey: string) => ({
    IndexName: `by-${name}`,
    KeySchema: [
      { AttributeName: name, KeyType: "HASH" },
      { AttributeName: sortKey, KeyType: "RANGE" },
    ],
    Projection: { ProjectionType: "KEYS_ONLY" },
  });

  it("has one index, which spreads items over shards, and one of principals only where the zone lists them", () => {
    expect(indexesOf({})).toEqual([index("shard", "position")]);
    expect(indexesOf({ hasPrincipals: true })).toEqual([index("shard", "position"), index("principal", "listed")]);
  });
});
