/** The Execution zone's records of tasks that are over for who asked: all but those that an agent is at work on. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "@jest/globals";
import { createExecutionRecords } from "../../../lib/cli/data/execution-records.ts";
import { parseRecord } from "../../../lib/cli/data/person.ts";
import { type Engine, openSqliteEngine } from "../../../lib/local/engine.ts";

const hourMs = 3600_000;
const requestId = "00000001-0000-5000-8000-000000000000";

let folder: string;
let engine: Engine;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-data-"));
  engine = openSqliteEngine({ file: join(folder, "execution.db") });
});
afterEach(async () => {
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

async function erase(changes: object): Promise<number> {
  const item = { id: "e1", revision: 1, requestId, expiresAtMs: Date.now() + hourMs, state: "working", ...changes };
  await engine.taskStore({ parse: parseRecord }).create({ item });
  const at = { file: join(folder, "verification.db") };
  const records = createExecutionRecords({ at, signal: new AbortController().signal });
  return records({ ids: new Set([requestId]), erase: true });
}

const kept = () => engine.taskStore({ parse: parseRecord }).get({ id: "e1" });

describe("erasing the Execution zone's records", () => {
  it.each([
    ["is over", { state: "completed" }],
    ["lost its host an hour ago", { lease: { owner: "o", untilMs: Date.now() - hourMs } }],
    ["asks a question that nobody will answer", { state: "input_required" }],
    ["has not begun", { state: "submitted" }],
    ["has not begun again after an answer", {}],
  ])("takes away one that %s", async (_, changes) => {
    expect(await erase(changes)).toBe(1);
    expect(await kept()).toBeUndefined();
  });

  it("stops at one that an agent is at work on", async () => {
    await expect(erase({ lease: { owner: "o", untilMs: Date.now() } })).rejects.toThrow("still at work");
    expect(await kept()).toBeDefined();
  });
});
