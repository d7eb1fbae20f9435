/** The commands that copy records from a restored table, run by a shell with a double of the AWS CLI. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { toRecordAttributes } from "../../../lambdas/shared/engine/aws/task-store.ts";
import type { TaskItem } from "../../../lambdas/shared/engine/ports.ts";
import { hangMs } from "../../tooling/hang.ts";
import type { LookEntry } from "./entry.ts";

const scan = "aws dynamodb scan --table-name TABLE-restored --consistent-read --output json";
const split = "split -l 1 -a 6 - items/";
const makeFolder = "mkdir items";
const copyAll = `${scan} | jq -c '.Items[]' | ${split}`;
const copyWithoutOpenTasks = `${scan} | jq -c '.Items[] | select(.data.S | fromjson | .message == null or .state == "done")' | ${split}`;
const put =
  "find items -type f -print0 | xargs -0 -I {} aws dynamodb put-item --table-name TABLE --condition-expression 'attribute_not_exists(id)' --item file://{}";

/** `scan` prints a file. `put-item` keeps its file, and refuses one record as DynamoDB refuses an existing one. */
const double = `#!${process.execPath}
const { appendFileSync, readFileSync } = require("node:fs");
const [, verb] = process.argv.slice(2);
if (verb === "scan") process.stdout.write(readFileSync("scan.json", "utf8"));
if (verb === "put-item") {
  const item = JSON.parse(readFileSync(process.argv.at(-1).slice("file://".length), "utf8"));
  if (item.id.S === "still-there") {
    process.stderr.write("ConditionalCheckFailedException\\n");
    process.exit(254);
  }
  appendFileSync("put.jsonl", JSON.stringify(item) + "\\n");
}
`;

type Stored = TaskItem & { message?: { text: string } };
const message = { text: 'it\'s "quoted" \\n and\nmore than 128 KB '.padEnd(200_000, "x") };
const common = { revision: 3, expiresAtMs: Date.UTC(2030, 0) };
const records: Stored[] = [
  { ...common, id: "allowlist", state: "allowlist" },
  { ...common, id: "thread:C1/1", state: "thread" },
  { ...common, id: "history", state: "history/2026-11-22" },
  { ...common, id: "finished", state: "done", message },
  { ...common, id: "open", state: "waiting", message },
  { ...common, id: "still-there", state: "done", message },
];
const items = records.map((item) => ({ id: { S: item.id }, ...toRecordAttributes({ item, writer: "w" }) }));

/** The ids that are put into the table, in any order. */
function idsThatAreCopied(copy: string): string[] {
  const directory = mkdtempSync(join(tmpdir(), "sekisho-restore-"));
  try {
    writeFileSync(join(directory, "aws"), double);
    chmodSync(join(directory, "aws"), 0o755);
    writeFileSync(join(directory, "scan.json"), JSON.stringify({ Items: items }));
    const env = { PATH: `${directory}:${process.env.PATH}` };
    const given = { cwd: directory, env, encoding: "utf8", timeout: hangMs } as const;
    for (const command of [makeFolder, copy])
      expect(spawnSync("sh", ["-c", command], given)).toMatchObject({ status: 0 });
    // 123: xargs has gone on after a command that failed.
    expect(spawnSync("sh", ["-c", put], given)).toMatchObject({
      status: 123,
      stderr: expect.stringContaining("Conditional"),
    });
    const copied = readFileSync(join(directory, "put.jsonl"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    for (const item of copied) expect(items).toContainEqual(item);
    return copied.map((item) => item.id.S).sort();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const finished = ["allowlist", "finished", "history", "thread:C1/1"];
const because = "it is run with a double of the AWS CLI";
const hasJq = (process.env.PATH ?? "").split(":").some((folder) => existsSync(join(folder, "jq")));
const ifJq = (look: () => void) => (hasJq ? look : () => {});

export const restoreCommands: LookEntry[] = [
  { command: makeFolder, because, look: () => {} },
  {
    command: copyAll,
    because,
    look: ifJq(() => expect(idsThatAreCopied(copyAll)).toEqual([...finished, "open"].sort())),
  },
  {
    command: copyWithoutOpenTasks,
    because,
    look: ifJq(() => expect(idsThatAreCopied(copyWithoutOpenTasks)).toEqual(finished)),
  },
  { command: put, because, look: () => {} },
];
