/** `sekisho trace` against what zones have stored and logged, on one machine and in a stage. */
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import {
  deriveTaskId,
  parseExecutionTask,
} from "../../../lambdas/execution/tasks/execution-task.ts";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { createExecutionRecords } from "../../../lib/cli/data/execution-records.ts";
import { type Engine, openSqliteEngine } from "../../../lib/local/engine.ts";
import { whyNoDynamoDb } from "../../doubles/aws/emulators.ts";
import { hangSignal } from "../../tooling/hang.ts";
import { executionAccount, twoAccounts, verificationAccount, writeConfig } from "../aws/a-stage.ts";
import { commandHere, refusing } from "../aws/command-here.ts";
import { openAwsPlace, type TestPlace } from "../tasks/places.ts";
import {
  knownExecution,
  knownLogs,
  knownTask,
  requestId,
  secretText,
  taskId,
  traceId,
} from "./known.ts";

const startMs = Date.now() - 60_000;

describe("sekisho trace on one machine", () => {
  let folder: string;
  let engines: Engine[];
  const store = () => join(folder, "verification.db");
  const trace = (...args: string[]) => commandHere(["trace", ...args, "--store", store()], {});
  const logFile = (name: string, lines: string[]) => {
    writeFileSync(join(folder, name), lines.join(""));
    return join(folder, name);
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "sekisho-trace-"));
    // Both stay open, as they are while the zones run.
    const [verification, execution] = ["verification.db", "execution.db"].map((name) =>
      openSqliteEngine({ file: join(folder, name) }),
    ) as [Engine, Engine];
    engines = [verification, execution];
    const tasks = verification.taskStore({ parse: (json) => taskSchema.parse(json) });
    await tasks.create({ item: knownTask({ startMs }) });
    await execution
      .taskStore({ parse: parseExecutionTask })
      .create({ item: knownExecution({ startMs }) });
  });
  afterAll(async () => {
    for (const engine of engines) await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("shows the way through both zones, with times from the beginning and gaps, and no text", async () => {
    const { code, stdout, stderr } = await trace(requestId.slice(0, 8));
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(
      `Task ${requestId}\n  state        done: answered\n  destination  host\n`,
    );
    expect(stdout).toMatch(/took +2\.30 s\n/);
    const [, ...rows] = stdout
      .split("\n\n")
      .join("\n")
      .split(/\n +\+/)
      .map((row) => row.trim());
    expect(rows).toEqual([
      "0.00 s  slack          message queued",
      "0.10 s   verification  placeholder posted → announced",
      "0.15 s   verification  worker claimed the task → sent",
      expect.stringMatching(
        /^0\.17 s {4}.*execution {3}task stored → submitted\n +⋮ {2}1\.96 s later$/,
      ),
      "2.13 s      agent      agent finished → completed",
      "2.15 s   verification  Execution zone responded → delivering",
      "2.30 s   verification  outcome posted → done",
    ]);
    expect(stdout).not.toContain(secretText);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are for terminals alone.
    expect(stdout).not.toMatch(/\u001b/);
  });

  it("knows every step and how long calls took from log lines, in whichever order the files come", async () => {
    const lines = knownLogs({ startMs });
    const files = [
      logFile("a.log", lines.slice(0, 2)),
      logFile("b.log", ["not a line\n", ...lines.slice(2)]),
    ];
    const { code, stdout, stderr } = await trace(requestId, "--logs", ...files, "--json");
    expect([code, stderr]).toEqual([0, "Ignored 1 line that is not a log line of Sekisho.\n"]);
    const { steps, ...head } = JSON.parse(stdout);
    expect(head).toMatchObject({ requestId, taskId, traceId, state: "done" });
    expect(steps).toContainEqual(
      expect.objectContaining({ title: "execute_task", durationMs: 1985, zone: "transport" }),
    );
    const turned = await trace(requestId, "--logs", ...files.reverse(), "--json");
    expect(JSON.parse(turned.stdout).steps).toEqual(steps);
  });

  it.each([
    ["a task id", taskId],
    ["a trace id", traceId],
  ])(
    "finds a task by %s of its lines, also where a log service put several into one line",
    async (_name, id) => {
      const file = logFile("one-line.log", [
        knownLogs({ startMs })
          .map((line) => line.trim())
          .join("\t"),
      ]);
      const { code, stdout } = await trace(id, "--logs", file);
      expect(code).toBe(0);
      expect(stdout).toContain(`Task ${requestId}`);
      const without = await trace(id);
      expect(without).toMatchObject(refusing(1, "--logs"));
    },
  );

  it("goes on with the lines where no store has the task, and says so", async () => {
    const file = logFile("lines.log", knownLogs({ startMs }));
    const elsewhere = join(folder, "none.db");
    const { code, stdout, stderr } = await commandHere(
      ["trace", requestId, "--logs", file, "--store", elsewhere],
      {},
    );
    expect(code).toBe(0);
    expect(stderr).toContain(`There is no ${elsewhere}`);
    expect(stdout).toContain("agent finished → completed");
  });

  it("says which tasks a beginning may mean, where the lines know several", async () => {
    const other = requestId.replace(/.{4}$/, "ffff");
    const lines = knownLogs({ startMs });
    const file = logFile("two.log", [
      ...lines,
      ...lines.map((line) => line.replaceAll(requestId, other)),
    ]);
    const { code, stderr } = await trace(requestId.slice(0, 8), "--logs", file);
    expect(code).toBe(1);
    expect(stderr).toContain(requestId);
    expect(stderr).toContain(other);
  });

  it.each([
    [["abc"], 2, "is not an id"],
    [[], 2, "Give a request id"],
    [["ffffffff", "more"], 2, "--logs"],
    [["ffffffff", "--logs", "-", "-"], 2, "once"],
    [
      ["ffffffff", "--logs", "/nowhere/at/all.log"],
      2,
      "/nowhere/at/all.log cannot be read (ENOENT)",
    ],
    [["ffffffff"], 1, "begins with ffffffff"],
    [["ffffffff", "--stage", "prod"], 2, "--stage or --store"],
  ])("refuses %j with exit code %i", async (args, code, text) => {
    expect(await trace(...args)).toMatchObject({
      code,
      stdout: "",
      stderr: expect.stringContaining(text),
    });
  });
});

it("leaves an empty file of the Execution zone empty: a command that reads makes no tables", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sekisho-trace-"));
  const [file, empty] = [join(folder, "verification.db"), join(folder, "execution.db")];
  const engine = openSqliteEngine({ file });
  try {
    const tasks = engine.taskStore({ parse: (json) => taskSchema.parse(json) });
    await tasks.create({ item: knownTask({ startMs }) });
    writeFileSync(empty, "");
    expect(await commandHere(["trace", requestId, "--store", file], {})).toMatchObject({
      code: 0,
      stderr: "",
    });
    const count = createExecutionRecords({ at: { file }, signal: hangSignal() });
    expect(await count({ ids: new Set([requestId]) })).toBe(0);
    expect(statSync(empty).size).toBe(0);
    expect(existsSync(`${empty}-wal`)).toBe(false);
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

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

  const trace = (...args: string[]) =>
    commandHere(["trace", requestId, "--stage", "prod", ...args], place.aws?.env ?? {});

  it("says in one line that another account has the Execution zone, and shows what there is", async () => {
    const { code, stdout, stderr } = await trace("--config", `${place.folder}/two.json`);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      new RegExp(`^The Execution zone is in account ${executionAccount}, .*--logs .*\n$`),
    );
    expect(stdout).toContain("outcome posted → done");
  });

  it("says in one line why the table of its own account cannot be read, and shows what there is", async () => {
    const { code, stdout, stderr } = await trace("--config", oneAccount);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^There is no stack Sekisho-prod-Execution in eu-central-1\. .*\n$/);
    expect(stdout).toContain("outcome posted → done");
  });

  it("shows the Execution zone's part from its table, which the stack names", async () => {
    const principal = `${verificationAccount}:role/sekisho-prod-verification`;
    const id = deriveTaskId({ principal, requestId }) ?? "";
    const outputs = place.aws?.stacks.get("Sekisho-prod-Verification");
    place.aws?.stacks.set("Sekisho-prod-Execution", { TableName: outputs?.TableName ?? "" });
    const executions = place.engine.taskStore({
      parse: (json) => json as ReturnType<typeof knownExecution>,
    });
    await executions.create({ item: knownExecution({ startMs, id, principal }) });
    const { code, stdout, stderr } = await trace("--config", oneAccount);
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(`task id      ${id}`);
    expect(stdout).toContain("agent finished → completed");
  });
});
