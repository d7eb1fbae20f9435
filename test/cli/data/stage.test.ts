/** What only a stage has: dead letters that are kept, and an Execution zone in another account. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { executionOutputs } from "../../../lib/cdk/names.ts";
import { parseRecord } from "../../../lib/cli/data/person.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { sampleAsk, sampleTask } from "../../verification/task/sample.ts";
import { executionAccount, verificationAccount } from "../aws/a-stage.ts";
import { openAwsPlace, type TestPlace } from "../tasks/places.ts";

const nowMs = Date.now();
const dayMs = 24 * 3600_000;
const who = ["--team", "T1", "--user", "U1"];
const id = "00000001-0000-5000-8000-000000000000";

(whyNoDynamoDb === undefined ? describe : describe.skip)("sekisho data at a stage in two accounts", () => {
  let place: TestPlace;
  beforeAll(async () => {
    place = await openAwsPlace();
  });
  afterAll(() => place.close());

  const servicesOf = () => {
    if (place.aws === undefined) throw new Error("the place is on AWS");
    return place.aws;
  };
  const records = () => place.engine.taskStore({ parse: parseRecord });

  it("deletes the person's dead letters, and leaves what it cannot reach to a command that it tells", async () => {
    const { message } = sampleTask();
    const times = { receivedAtMs: nowMs - 1000, expiresAtMs: nowMs + dayMs };
    const mine = {
      id,
      state: "done",
      cleanupDone: true,
      principal: "T1/U1",
      message: { ...message, user: "U1" },
    } as const;
    await place.engine
      .taskStore({ parse: (json) => taskSchema.parse(json) })
      .create({ item: sampleTask({ ...mine, ...times }) });
    await records().create({
      item: { id: "e1", revision: 1, state: "completed", requestId: id, expiresAtMs: nowMs + dayMs },
    });
    const { deadLetters } = place.engine.taskQueue({ maxReceiveCount: 5 });
    const ask = sampleAsk();
    for (const user of ["U1", "U2"]) {
      await deadLetters.send({ body: JSON.stringify({ ...ask, message: { ...ask.message, user } }) });
    }
    const shown = JSON.parse((await place.command("data", "show", ...who, "--json")).stdout);
    expect(shown).toMatchObject({ tasks: 1, deadLetters: 1 });
    expect(shown.execution).toContain(`in account ${executionAccount}`);

    const { code, stdout, stderr } = await place.command("data", "delete", ...who, "--yes");
    expect(code).toBe(1);
    expect(stdout).toContain("Deleted, but for the Execution zone's records.");
    const [, file = ""] = /--request-ids (\S+) --stage prod --config \S+ --yes/.exec(stderr) ?? [];
    expect(readFileSync(file, "utf8")).toBe(`${id}\n`);
    const letters = await deadLetters.receive({ max: 10, visibilityTimeoutMs: 1000, waitMs: 1000 });
    expect(letters.map(({ body }) => JSON.parse(body).message.user)).toEqual(["U2"]);
    expect(await records().get({ id })).toMatchObject({ principal: "" });
    expect(await records().get({ id: "e1" })).toBeDefined();

    const aws = servicesOf();
    const table = aws.stacks.get("Sekisho-prod-Verification")?.TableName ?? "";
    aws.stacks.set("Sekisho-prod-Execution", { [executionOutputs.tableName]: table });
    expect(await place.command("data", "delete", "--request-ids", file, "--yes")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`these credentials are of ${verificationAccount}`),
    });
    aws.account = executionAccount;
    const deleted = await place.command("data", "delete", "--request-ids", file, "--yes");
    aws.account = verificationAccount;
    expect(deleted).toMatchObject({ code: 0, stdout: expect.stringContaining("deleted: 1 of 1.") });
    expect(await records().get({ id: "e1" })).toBeUndefined();
  });

  it("refuses a file that holds something else", async () => {
    const file = join(place.folder, "two.json");
    expect(await place.command("data", "delete", "--request-ids", file, "--yes")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("does not hold request ids, one per line"),
    });
  });
});
