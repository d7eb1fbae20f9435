/** `sekisho usage`: reports finished tasks. */
import { resolve } from "node:path";
import type { UsageEntry } from "@sekisho/verification/usage/entry.ts";
import { awsExits, defineCommand, exitCodes, flag, option, UsageError } from "../command.ts";
import { withZone, zoneOptions } from "../zone/zone.ts";
import { csvLine } from "./csv.ts";
import { listDays, readEntries, writeLines } from "./entries.ts";
import { columns, toUsageRow } from "./row.ts";
import { createSummary, formatTasks } from "./summary.ts";

export const usage = defineCommand({
  name: "usage",
  about: `
Counts the finished tasks by destination and outcome, with tokens and votes, and lists the people with the most tasks. --csv
and --json list every task, with texts only if the configuration stores them (usageHistory.texts).`,
  options: {
    from: option(
      "DAY",
      "the first day on which a task ended, in UTC, such as 2026-11-01 (29 days ago)",
    ),
    to: option("DAY", "the last day (today)"),
    team: option("T", "only tasks of the workspace with that id"),
    user: option("U", "only tasks of the person with that id"),
    csv: flag("prints a header and one line per task, for a spreadsheet"),
    json: flag("prints one JSON object per task, one per line"),
    out: option("FILE", "writes to that file instead of the terminal; with --csv or --json"),
    ...zoneOptions,
  },
  exits: awsExits("it cannot be read or written"),
  async run(run) {
    const { csv, json, out, ...values } = run.values;
    if (csv && json) throw new UsageError("Give --csv or --json, not both.");
    if (out !== undefined && !csv && !json) throw new UsageError("--out needs --csv or --json.");
    const days = listDays({ ...values, nowMs: Date.now() });
    const [team, user] = [readId(values.team, "--team"), readId(values.user, "--user")];
    return withZone(run, values, async (zone) => {
      const { where } = zone;
      let unreadable = 0;
      const onUnreadable = () => {
        unreadable += 1;
      };
      const entries = readEntries({ zone, days, team, user, onUnreadable, signal: run.signal });
      const lines = csv ? csvLines(entries) : jsonLines(entries);
      if (!csv && !json) {
        const summary = createSummary({ days, where });
        for await (const entry of entries) summary.add(entry);
        for (const line of summary.lines()) run.print(line);
      } else if (out === undefined) for await (const line of lines) run.print(line);
      else {
        const file = resolve(run.directory, out);
        const lineCount = await writeLines({ file, lines });
        run.note(`${formatTasks(csv ? lineCount - 1 : lineCount)} written to ${file}.`);
      }
      if (unreadable > 0)
        run.note(`Not counted: ${formatTasks(unreadable)} written by another version of Sekisho.`);
      return exitCodes.success;
    });
  },
});

/** Each line ends with CR, because CSV lines end with CR LF and printing a line adds the LF. */
async function* csvLines(entries: AsyncIterable<UsageEntry>): AsyncGenerator<string> {
  yield `${csvLine(columns)}\r`;
  for await (const entry of entries) yield `${csvLine(Object.values(toUsageRow(entry)))}\r`;
}

async function* jsonLines(entries: AsyncIterable<UsageEntry>): AsyncGenerator<string> {
  for await (const entry of entries) yield JSON.stringify(toUsageRow(entry));
}

function readId(text: string | undefined, option: "--team" | "--user"): string | undefined {
  if (text === undefined || /^[A-Z0-9]{1,64}$/.test(text)) return text;
  const example = option === "--team" ? "T012AB3CD" : "U012AB3CD";
  throw new UsageError(`${option} must be a Slack id such as ${example}, not "${text}".`);
}
