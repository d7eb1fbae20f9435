/** The table of tasks as CloudFormation creates it, held against how the store lists. */
import { describe, expect, it } from "@jest/globals";
import { App, Stack } from "aws-cdk-lib";
import { Template } from "aws-cdk-lib/assertions";
import { Key } from "aws-cdk-lib/aws-kms";
import { createTaskTable } from "../../lib/constructs/task-table.ts";

describe("the table of tasks", () => {
  it("sorts threads and states by creation, and what a principal has by the time that the items name", () => {
    const stack = new Stack(new App(), "Zone");
    createTaskTable(stack, "Tasks", { key: new Key(stack, "Key"), production: false });
    const index = (name: string, sortKey: string) => ({
      IndexName: `by-${name}`,
      KeySchema: [
        { AttributeName: name, KeyType: "HASH" },
        { AttributeName: sortKey, KeyType: "RANGE" },
      ],
      Projection: { ProjectionType: "KEYS_ONLY" },
    });
    const expected = [index("thread", "position"), index("principal", "listed"), index("state", "position")];
    const [table] = Object.values(Template.fromStack(stack).findResources("AWS::DynamoDB::Table"));
    expect(table?.Properties.GlobalSecondaryIndexes).toEqual(expected);
  });
});
