/** What the commands about tasks ask of AWS, and what they say where it refuses. */
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "@jest/globals";
import { shardCount } from "../../../lambdas/shared/engine/aws/table.ts";
import { type Task, taskSchema } from "../../../lambdas/verification/task/task.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import type { AwsServices } from "../../doubles/aws/json-services.ts";
import { sampleTask } from "../../verification/task/sample.ts";
import { openAwsPlace, type TestPlace } from "./places.ts";

const describeWithDynamoDb = whyNoDynamoDb === undefined ? describe : describe.skip;

describeWithDynamoDb("sekisho tasks of a stage", () => {
  let place: TestPlace;
  let aws: AwsServices;
  let task: Task;
  beforeAll(async () => {
    const opened = await openAwsPlace();
    if (opened.aws === undefined) throw new Error("It is on AWS.");
    place = opened;
    aws = opened.aws;
    task = sampleTask({ receivedAtMs: Date.now(), expiresAtMs: Date.now() + 3600_000, state: "waiting" });
    await place.engine.taskStore({ parse: (json) => taskSchema.parse(json) }).create({ item: task });
  });
  afterAll(() => place.close());
  afterEach(() => {
    aws.refusals.clear();
    aws.unanswered.clear();
    aws.calls.length = 0;
  });

  const actions = () => new Set(aws.calls.map(({ action }) => action));

  it("finds a whole id by one read, and says that a part of one takes a search", async () => {
    expect(await place.tasks("show", task.id)).toMatchObject({ code: 0, stderr: "" });
    expect(actions()).not.toContain("dynamodb:Query");
    const searched = await place.tasks("show", task.id.slice(0, 8));
    expect(searched).toMatchObject({ code: 0, stderr: expect.stringContaining("whole request id") });
    expect(aws.calls.filter(({ action }) => action === "dynamodb:GetItem")).toHaveLength(2);
  });

  it("sends in the group of the task's workspace, and writes nothing into the table", async () => {
    expect((await place.tasks("cancel", task.id)).code).toBe(0);
    const sends = aws.calls.filter(({ action }) => action === "sqs:SendMessage").map(({ body }) => JSON.parse(body));
    expect(sends).toMatchObject([{ MessageGroupId: "T1" }]);
    expect([...actions()].filter((action) => /Put|Update|Delete/.test(action))).toEqual([]);
  });

  it.each([
    ["dynamodb:Query", ["list"]],
    ["dynamodb:Query", ["show", "0d1c2b3a"]],
    ["dynamodb:GetItem", ["retry", "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d"]],
    ["sqs:SendMessage", ["cancel", "0d1c2b3a-4f5e-5a6b-8c7d-9e0f1a2b3c4d"]],
  ])("exits with 1 and says what to do where %s is refused (%j)", async (action, words) => {
    aws.refusals.set(action, { status: 400, name: "AccessDeniedException" });
    const refused = await place.tasks(...words);
    expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("may not do that") });
    aws.refusals.set(action, { status: 500, name: "InternalFailure" });
    expect((await place.tasks(...words)).code).toBe(3);
  });

  it("ends at once when it is interrupted", async () => {
    aws.unanswered.add("dynamodb:Query");
    const listing = place.tasks("list", "--state", "sent");
    while (!actions().has("dynamodb:Query")) await setTimeout(10);
    process.emit("SIGINT");
    expect(await listing).toMatchObject({ code: 130, stdout: "" });
    // Its deadline would have let it try again.
    const queries = aws.calls.filter(({ action }) => action === "dynamodb:Query").map(({ body }) => body);
    expect(queries.length).toBeLessThanOrEqual(shardCount);
    expect(new Set(queries).size).toBe(queries.length);
  });
});
