/** `sekisho trace --stage`: the Verification zone's table, and the Execution zone's where the credentials reach it. */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { deriveTaskId } from "../../../lambdas/execution/tasks/execution-task.ts";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { executionAccount, twoAccounts, verificationAccount, writeConfig } from "../aws/a-stage.ts";
import { commandHere } from "../aws/command-here.ts";
import { openAwsPlace, type TestPlace } from "../tasks/places.ts";
import { knownExecution, knownTask, requestId } from "./known.ts";

const startMs = Date.now() - 60_000;
const describeWhere = whyNoDynamoDb === undefined ? describe : describe.skip;

describeWhere("sekisho trace of a stage", () => {
  let place: TestPlace;
  let oneAccount: string;
  beforeAll(async () => {
    place = await openAwsPlace();
    const tasks = place.engine.taskStore({ parse: (json) => taskSchema.parse(json) });
    await tasks.create({ item: knownTask({ startMs }) });
    const stage = { ...twoAccounts.stages.prod, execution: { kind: "lambda" } };
    oneAccount = writeConfig({
      folder: place.folder,
      name: "one.json",
      json: { ...twoAccounts, stages: { prod: stage } },
    });
  });
  afterAll(async () => {
    await place.close();
    rmSync(place.folder, { recursive: true, force: true });
  });

  const trace = (...words: string[]) =>
    commandHere(["trace", requestId, "--stage", "prod", ...words], place.aws?.env ?? {});

  it("says in one line that another account has the Execution zone, and shows what there is", async () => {
    const { code, stdout, stderr } = await trace("--config", `${place.folder}/two.json`);
    expect(code).toBe(0);
    expect(stderr).toMatch(new RegExp(`^The Execution zone is in account ${executionAccount}, .*--logs .*\n$`));
    expect(stdout).toContain("answer is in the thread → done");
  });

  it("says in one line why the table of its own account cannot be read, and shows what there is", async () => {
    const { code, stdout, stderr } = await trace("--config", oneAccount);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^There is no stack Sekisho-prod-Execution in eu-central-1\. .*\n$/);
    expect(stdout).toContain("answer is in the thread → done");
  });

  it("shows the Execution zone's part from its table, which the stack names", async () => {
    const principal = `${verificationAccount}:role/sekisho-prod-verification`;
    const id = deriveTaskId({ principal, requestId }) ?? "";
    const outputs = place.aws?.stacks.get("Sekisho-prod-Verification");
    place.aws?.stacks.set("Sekisho-prod-Execution", { TableName: outputs?.TableName ?? "" });
    const executions = place.engine.taskStore({ parse: (json) => json as ReturnType<typeof knownExecution> });
    await executions.create({ item: knownExecution({ startMs, id, principal }) });
    const { code, stdout, stderr } = await trace("--config", oneAccount);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`task id      ${id}`);
    expect(stdout).toContain("agent is done → completed");
  });
});
