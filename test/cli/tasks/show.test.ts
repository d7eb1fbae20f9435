/** `sekisho tasks show` with the records of both zones, on one machine and in a stage. */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { deriveTaskId, parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { type Engine, openSqliteEngine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import { eraseExecutionRecords } from "@sekisho/sekisho/data/data.ts";
import { taskSchema } from "@sekisho/verification/task/task.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { hangSignal } from "../../tooling/hang.ts";
import { executionAccount, twoAccounts, verificationAccount, writeConfig } from "../aws/a-stage.ts";
import { commandHere } from "../aws/command-here.ts";
import { knownExecution, knownTask, requestId, secretText } from "./known.ts";
import { openAwsPlace, type TestPlace } from "./places.ts";

const startMs = Date.now() - 60_000;

describe("sekisho tasks show on one machine", () => {
  it("shows the steps of both zones in order, and no text", async () => {
    const folder = mkdtempSync(join(tmpdir(), "sekisho-show-"));
    // Both stay open, as they are while the zones run.
    const [verification, execution] = ["verification.db", "execution.db"].map((name) =>
      openSqliteEngine({ file: join(folder, name) }),
    ) as [Engine, Engine];
    try {
      const tasks = verification.taskStore({ parse: (json) => taskSchema.parse(json) });
      await tasks.create({ item: knownTask({ startMs }) });
      const executions = execution.taskStore({ parse: parseExecutionTask });
      await executions.create({ item: knownExecution({ startMs }) });
      const store = ["--store", join(folder, "verification.db")];
      const show = (...args: string[]) =>
        commandHere(["tasks", "show", requestId.slice(0, 8), ...store, ...args], {});
      const { code, stdout, stderr } = await show();
      expect([code, stderr]).toEqual([0, ""]);
      const rows = (stdout.split("Timeline\n")[1] ?? "").trimEnd().split("\n");
      expect(rows.map((row) => row.trim().split(/ {2,}/).slice(1))).toEqual([
        ["after", "zone", "step"],
        ["slack", "message queued"],
        ["+100 ms", "verification", "placeholder posted → announced"],
        ["+50 ms", "verification", "worker claimed the task → sent"],
        ["+20 ms", "execution", "task stored → submitted"],
        ["+1 s", "agent", "agent finished → completed"],
        ["+20 ms", "verification", "Execution zone responded → delivering"],
        ["+150 ms", "verification", "outcome posted → done"],
      ]);
      const json = await show("--json");
      expect(JSON.parse(json.stdout).timeline).toHaveLength(7);
      expect(stdout + json.stdout).not.toContain(secretText);
    } finally {
      for (const engine of [verification, execution]) await engine.close();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

it("leaves an empty database of the Execution zone empty", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-show-"));
  const [file, empty] = [join(folder, "verification.db"), join(folder, "execution.db")];
  const engine = openSqliteEngine({ file });
  try {
    const tasks = engine.taskStore({ parse: (json) => taskSchema.parse(json) });
    await tasks.create({ item: knownTask({ startMs }) });
    writeFileSync(empty, "");
    expect(await commandHere(["tasks", "show", requestId, "--store", file], {})).toMatchObject({
      code: 0,
      stderr: "",
    });
    const part = { at: { file }, ids: new Set([requestId]), isDryRun: true, signal: hangSignal() };
    expect(await eraseExecutionRecords(part)).toBe(0);
    expect(statSync(empty).size).toBe(0);
    expect(existsSync(`${empty}-wal`)).toBe(false);
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

const describeWhere = whyNoDynamoDb === undefined ? describe : describe.skip;

describeWhere("sekisho tasks show of a stage", () => {
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

  const show = (...args: string[]) =>
    commandHere(["tasks", "show", requestId, "--stage", "prod", ...args], place.aws?.env ?? {});

  it("notes in one line that the Execution zone is in another account, and shows the other steps", async () => {
    const { code, stdout, stderr } = await show("--config", `${place.folder}/two.json`);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      new RegExp(`^The Execution zone is in account ${executionAccount}, .*\n$`),
    );
    expect(stdout).toContain("outcome posted → done");
  });

  it("notes in one line why the table in the same account is unreadable, and shows the other steps", async () => {
    const { code, stdout, stderr } = await show("--config", oneAccount);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^There is no stack Sekisho-prod-Execution in eu-central-1\. .*\n$/);
    expect(stdout).toContain("outcome posted → done");
  });

  it("reads the Execution zone's part from the table that the stack names", async () => {
    const principal = `${verificationAccount}:role/sekisho-prod-verification`;
    const id = deriveTaskId({ principal, requestId }) ?? "";
    const outputs = place.aws?.stacks.get("Sekisho-prod-Verification");
    place.aws?.stacks.set("Sekisho-prod-Execution", { TableName: outputs?.TableName ?? "" });
    const executions = place.engine.taskStore({
      parse: (json) => json as ReturnType<typeof knownExecution>,
    });
    await executions.create({ item: knownExecution({ startMs, id, principal }) });
    const { code, stdout, stderr } = await show("--config", oneAccount);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("agent finished → completed");
  });
});
