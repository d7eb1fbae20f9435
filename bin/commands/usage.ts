/** `sekisho usage`: who asked when, for which destination, and how it ended. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import type { HistoryEntry } from "../../lambdas/verification/usage/entry.ts";
import { withRecordPlace } from "../../lib/cli/data/person.ts";
import { csvLine } from "../../lib/cli/usage/csv.ts";
import { listDays } from "../../lib/cli/usage/days.ts";
import { readEntries } from "../../lib/cli/usage/entries.ts";
import { columns, toUsageRow } from "../../lib/cli/usage/row.ts";
import { createSummary } from "../../lib/cli/usage/summary.ts";
import { writeLines } from "../../lib/cli/usage/write-lines.ts";
import { zoneHelp, zoneOptions } from "../../lib/cli/zone/zone.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

export const usage: Command = {
  help: `
sekisho usage [--from DAY] [--to DAY] [--team T] [--user U] [--csv | --json] [--out FILE] [--stage NAME | --store FILE]

Shows the tasks that have ended: how many, for which destination, with which outcome, the tokens where agents report
them, and who asked most. Texts only where the configuration keeps them (usageHistory.texts).

  --from DAY     the first day, such as 2026-11-01 (UTC, by when a task ended); 30 days with today unless told otherwise
  --to DAY       the last day; today unless told otherwise
  --team T       tasks of that workspace only, by its id
  --user U       tasks of that person only, by the id
  --csv          one line a task, for a spreadsheet; with a header
  --json         one JSON object a line and task
  --out FILE     there instead of on the terminal; with --csv or --json
${zoneHelp}

Exit code: 0; 1 it could not be read or written, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { values } = parseArgs({
      args: run.words,
      options: {
        from: { type: "string" },
        to: { type: "string" },
        team: { type: "string" },
        user: { type: "string" },
        csv: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        out: { type: "string" },
        ...zoneOptions,
      },
    });
    const { csv, json, out } = values;
    if (csv && json) throw new UsageError("--csv or --json, not both.");
    if (out !== undefined && !csv && !json) throw new UsageError("--out goes with --csv or --json.");
    const days = listDays({ ...values, nowMs: Date.now() });
    const [team, user] = [idOf(values.team, "--team"), idOf(values.user, "--user")];
    return withRecordPlace(run, values, async ({ store, where }) => {
      let unreadable = 0;
      const unread = () => {
        unreadable += 1;
      };
      const entries = readEntries({ store, days, team, user, unread, signal: run.signal });
      if (csv || json) {
        const lines = csv ? csvLines(entries) : jsonLines(entries);
        if (out === undefined) for await (const line of lines) run.print(line);
        else {
          const file = resolve(run.directory, out);
          const written = await writeLines({ file, lines: endLines(lines) });
          const tasks = csv ? written - 1 : written;
          run.note(`${tasks === 1 ? "1 task" : `${tasks} tasks`} written to ${file}.`);
        }
      } else {
        const summary = createSummary({ days, where });
        for await (const entry of entries) summary.add(entry);
        for (const line of summary.lines()) run.print(line);
      }
      if (unreadable > 0) run.note(`${unreadable} were written by another version of Sekisho and are not counted.`);
      return exitCodes.success;
    });
  },
};

/** Each ends in CR, to which the end of a line of output adds its LF. */
async function* csvLines(entries: AsyncIterable<HistoryEntry>): AsyncGenerator<string> {
  yield `${csvLine(columns)}\r`;
  for await (const entry of entries) {
    const row = toUsageRow(entry);
    yield `${csvLine(columns.map((column) => row[column]))}\r`;
  }
}

async function* jsonLines(entries: AsyncIterable<HistoryEntry>): AsyncGenerator<string> {
  for await (const entry of entries) yield JSON.stringify(toUsageRow(entry));
}

async function* endLines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}

function idOf(text: string | undefined, option: string): string | undefined {
  if (text === undefined || /^[A-Z0-9]{1,64}$/.test(text)) return text;
  throw new UsageError(
    `${option} is an id of Slack such as ${option === "--team" ? "T012AB3CD" : "U012AB3CD"}, not "${text}".`,
  );
}
