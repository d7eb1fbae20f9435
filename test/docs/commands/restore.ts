/** The commands that copy records of a table, run by a shell with a double of the AWS CLI. */
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "@jest/globals";
import { toRecordAttributes } from "../../../lambdas/shared/engine/aws/task-store.ts";
import type { TaskItem } from "../../../lambdas/shared/engine/ports.ts";
import type { StoredSettings } from "../../../lambdas/verification/config/stored-settings.ts";
import { hangMs } from "../../tooling/hang.ts";
import type { LookEntry } from "./entry.ts";

const scan = "aws dynamodb scan --table-name TABLE-restored --consistent-read --output json";
const split = "split -l 1 -a 6 - items/";
const copySettings = `aws dynamodb get-item --table-name TABLE --key '{"id":{"S":"live-settings"}}' --consistent-read --query Item.data.S --output text | jq -r .settings > live-settings.json`;
/** The AWS CLI applies `--query` to each page by itself where it prints text, so jq must choose among all versions. */
const copyFormerSettings = `aws ssm get-parameter-history --name NAME --output json | jq -r '[.Parameters[] | select(.Value != "{}")] | last.Value' > live-settings.json`;
const makeFolder = "mkdir items";
const copyAll = `${scan} | jq -c '.Items[]' | ${split}`;
const copyWithoutOpenTasks = `${scan} | jq -c '.Items[] | select(.data.S | fromjson | .message == null or .state == "done")' | ${split}`;
const put =
  "find items -type f -print0 | xargs -0 -I {} aws dynamodb put-item --table-name TABLE --condition-expression 'attribute_not_exists(id)' --item file://{}";

/** `scan` prints a file. `put-item` keeps its file, and refuses one record as DynamoDB refuses an existing one. */
const double = `#!${process.execPath}
const { appendFileSync, readFileSync } = require("node:fs");
const [, verb] = process.argv.slice(2);
if (verb === "get-item") process.stdout.write(JSON.parse(readFileSync("scan.json", "utf8")).Items[0].data.S + "\\n");
if (verb === "get-parameter-history") process.stdout.write(readFileSync("history.json", "utf8"));
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
const items = records.map((item) => ({
  id: { S: item.id },
  ...toRecordAttributes({ item, writer: "w" }),
}));

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

/** The file that the command writes, where these live settings are in the table, or in the history of the former parameter. */
function copyOfSettings({ command, settings }: { command: string; settings: string }): string {
  const directory = mkdtempSync(join(tmpdir(), "sekisho-restore-"));
  try {
    writeFileSync(join(directory, "aws"), double);
    chmodSync(join(directory, "aws"), 0o755);
    const record: StoredSettings = {
      ...common,
      id: "live-settings",
      state: "live_settings",
      settings,
    };
    writeFileSync(
      join(directory, "scan.json"),
      JSON.stringify({ Items: [toRecordAttributes({ item: record, writer: "w" })] }),
    );
    const Parameters = ["{}", "older", settings, ...Array<string>(60).fill("{}")].map((Value) => ({
      Value,
    }));
    writeFileSync(join(directory, "history.json"), JSON.stringify({ Parameters }));
    const env = { PATH: `${directory}:${process.env.PATH}` };
    const run = spawnSync("sh", ["-c", command], {
      cwd: directory,
      env,
      encoding: "utf8",
      timeout: 60_000,
    });
    expect(run).toMatchObject({ status: 0 });
    return readFileSync(join(directory, "live-settings.json"), "utf8");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const pushed = JSON.stringify({ routes: [{ word: 'a "word"', destination: "far" }] });
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
  ...[copySettings, copyFormerSettings].map((command) => ({
    command,
    because,
    look: ifJq(() => expect(copyOfSettings({ command, settings: pushed })).toBe(`${pushed}\n`)),
  })),
];
