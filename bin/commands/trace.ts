/** `sekisho trace`: shows the timeline of one task through both zones. */

import {
  awsExits,
  type CommandRun,
  defineCommand,
  exitCodes,
  flag,
  option,
  UsageError,
} from "../../lib/cli/command.ts";
import { readLogLines } from "../../lib/cli/trace/log-lines.ts";
import { createPicture } from "../../lib/cli/trace/picture.ts";
import { readSources } from "../../lib/cli/trace/read-sources.ts";
import { timelineLines } from "../../lib/cli/trace/timeline.ts";
import { zoneOptions } from "../../lib/cli/zone/zone.ts";

export const trace = defineCommand({
  name: "trace",
  args: "ID",
  about: `
Shows the timeline of one task from Slack through both zones and back. It comes from the Verification zone's record, and
from the Execution zone's record if that is on this machine or in the same account. It shows no texts.

ID is the request id or its beginning, such as the eight characters below an answer in Slack. With --logs it may also be
a task id or a trace id.`,
  options: {
    logs: {
      ...option(
        "FILE",
        "adds the log lines of either zone, such as those of SEKISHO_LOG_LEVEL=info sekisho start 2> FILE, or an export of a log service. They show each call, retry and failure, and replace the record of an Execution zone in another account. - is stdin. Several files may be given",
      ),
      multiple: true,
    },
    json: flag("prints the steps as a JSON object"),
    ...zoneOptions,
  },
  exits: awsExits("the task is unknown"),
  async run(run) {
    const { values } = run;
    const { id, files } = parsePositionals(run);
    const lines = files.length === 0 ? undefined : await readLines(run, files);
    const picture = createPicture({
      ...(await readSources(run, { id, values, lines })),
      nowMs: Date.now(),
    });
    if (picture === undefined) throw new Error(`No task ${id} was found.`);
    const color = process.stdout.isTTY === true && process.stdout.hasColors();
    if (values.json) run.print(JSON.stringify(picture, null, 2));
    else run.printStyled(timelineLines({ picture, color }).join("\n"));
    return exitCodes.success;
  },
});

type TraceArgs = { positionals: string[]; values: { logs?: string[] } };

/** A shell that expands `--logs *.log` leaves the files after the first one among the positionals. */
function parsePositionals({ positionals, values: { logs = [] } }: TraceArgs) {
  const [id, ...more] = positionals;
  if (id === undefined)
    throw new UsageError("Give a request id, or at least its first four characters.");
  if (more.length > 0 && logs.length === 0)
    throw new UsageError("Give only one id. Name files of log lines with --logs.");
  if (!/^[\w.:-]{4,128}$/.test(id))
    throw new UsageError(`"${id}" is not an id, or not its first four characters.`);
  const files = [...logs, ...more];
  if (files.filter((file) => file === "-").length > 1)
    throw new UsageError("--logs - can be given only once.");
  return { id, files };
}

async function readLines({ signal, note }: CommandRun, files: string[]) {
  const { lines, skipped, cut } = await readLogLines({ files, signal });
  if (skipped > 0)
    note(
      `Ignored ${skipped} ${skipped === 1 ? "line that is not a log line" : "lines that are not log lines"} of Sekisho.`,
    );
  if (cut) note(`There are too many log lines. Only the first ${lines.length} are used.`);
  return lines;
}
