/** The commands about tasks in the folder of a local run, as processes of their own. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { taskSchema } from "../../../lambdas/verification/task/task.ts";
import { lockFolder, openSqliteEngine } from "../../../lib/local/engine.ts";
import { sampleTask } from "../../verification/task/sample.ts";
import { commandHere } from "../aws/command-here.ts";
import { commandsInFolder } from "../commands-in-folder.ts";

const { folder, run } = commandsInFolder();
const file = join(folder, ".sekisho", "verification.db");

describe("sekisho tasks in a folder", () => {
  it("says where it looked where nothing was ever started, and makes no file", async () => {
    const ended = await run(["tasks", "list"]);
    expect(ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(file) });
    expect(ended.stderr).toContain("--stage");
    expect(existsSync(file)).toBe(false);
  });

  it("makes no database of an empty file", async () => {
    const empty = join(folder, "empty.db");
    writeFileSync(empty, "");
    const ended = await commandHere(["tasks", "list", "--store", empty], {});
    expect(ended).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(`${empty} is empty`) });
    expect(readFileSync(empty, "utf8")).toBe("");
    expect(existsSync(`${empty}-wal`)).toBe(false);
  });

  it("finds the tasks of `sekisho start` there, and says so where a wish has to wait for the next start", async () => {
    const task = sampleTask({ state: "waiting", receivedAtMs: Date.now(), expiresAtMs: Date.now() + 3600_000 });
    const lock = lockFolder({ folder: join(folder, ".sekisho") });
    const engine = openSqliteEngine({ file });
    await engine.taskStore({ parse: (json) => taskSchema.parse(json) }).create({ item: task });
    expect(await run(["tasks", "cancel", "0d1c2b3a"])).toMatchObject({ code: 0, stderr: "" });
    lock.release();
    await engine.close();
    const later = await run(["tasks", "cancel", "0d1c2b3a"]);
    expect(later).toMatchObject({ code: 0, stderr: expect.stringContaining("at the next start") });
    expect((await run(["tasks", "list"])).stdout).toContain("0d1c2b3a  waiting");
  });

  it("exits with 2 for two places at once, and for a stage that the configuration does not name", async () => {
    const both = await commandHere(["tasks", "list", "--stage", "dev", "--store", file], {});
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining("not both") });
    expect(await commandHere(["tasks", "list", "--stage", "nowhere"], {})).toMatchObject({ code: 2 });
  });

  it("says that a file is none of Sekisho's", async () => {
    const ended = await commandHere(["tasks", "list", "--store", __filename], {});
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining("not a database") });
  });
});
