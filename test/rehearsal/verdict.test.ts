import { describe, expect, it } from "@jest/globals";
import { unexplained } from "./verdict.ts";

const unused = [
  { source: "WorkerPolicy", action: "sqs:PurgeQueue", resource: "arn:aws:sqs:eu-central-1:1:tasks" },
  { source: "WorkerPolicy", action: "sqs:PurgeQueue", resource: "arn:aws:sqs:eu-central-1:1:dead" },
];

describe("a permission that no story needed", () => {
  it("is told with the policy that gives it", () => {
    expect(unexplained({ unused, exceptions: [] })).toEqual([
      "WorkerPolicy allows sqs:PurgeQueue on arn:aws:sqs:eu-central-1:1:tasks, which no story needed.",
      "WorkerPolicy allows sqs:PurgeQueue on arn:aws:sqs:eu-central-1:1:dead, which no story needed.",
    ]);
  });

  it("is let pass where an exception for its action and resource gives a reason", () => {
    const exceptions = [{ action: "sqs:Purge*", resource: "*:dead", reason: "by hand only" }];
    expect(unexplained({ unused, exceptions })).toEqual([expect.stringContaining(":tasks")]);
  });
});
