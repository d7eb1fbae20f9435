/** `sekisho trace`: one task's way through both zones, as a timeline. */
import { parseArgs } from "node:util";
import { gatherSources } from "../../lib/cli/trace/gather.ts";
import { createPicture } from "../../lib/cli/trace/picture.ts";
import { readLogLines } from "../../lib/cli/trace/read-log-lines.ts";
import { timelineLines } from "../../lib/cli/trace/timeline.ts";
import { zoneHelp, zoneOptions } from "../../lib/cli/zone/zone.ts";
import { type Command, type CommandRun, exitCodes, UsageError } from "./command.ts";

export const trace: Command = {
  help: `
sekisho trace ID [--logs FILE…] [--json] [--stage NAME | --store FILE]

Shows one task's way from Slack through both zones and back: when, where, what, and how long it took. It knows what
the stores know: the Verification zone's record, and the Execution zone's where it is on this machine or in the same
account. With log lines it knows every step. Never a message's text.

ID is the request id or its beginning, such as the eight characters below an answer in Slack; with --logs also a task
id or a trace id.

  --logs FILE    log lines of either zone, as SEKISHO_LOG_LEVEL=info npm start 2> FILE writes them, or as a log service
                 gives them; - is stdin. May come several times, and name several files
  --json         the steps as a JSON object
${zoneHelp}

Exit code: 0; 1 nothing is known of it, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { values, positionals } = parseArgs({
      args: run.words,
      allowPositionals: true,
      options: { json: { type: "boolean", default: false }, logs: { type: "string", multiple: true }, ...zoneOptions },
    });
    const { id, files } = parsePositionals({ positionals, logs: values.logs });
    const lines = files.length === 0 ? undefined : await readLines(run, files);
    const known = await gatherSources(run, { id, values, lines });
    const picture = createPicture({ ...known, nowMs: Date.now() });
    if (picture === undefined) throw new Error(`Nothing is known of ${id}.`);
    const color = process.stdout.isTTY === true && process.stdout.hasColors();
    if (values.json) run.print(JSON.stringify(picture, null, 2));
    else run.printStyled(timelineLines({ picture, color }).join("\n"));
    return exitCodes.success;
  },
};

/** A shell that expands `--logs *.log` puts the other files behind the first one. */
function parsePositionals({ positionals, logs = [] }: { positionals: string[]; logs: string[] | undefined }) {
  const [id, ...more] = positionals;
  if (id === undefined) throw new UsageError("A request id is needed, or the beginning of one.");
  if (more.length > 0 && logs.length === 0)
    throw new UsageError("One id is needed; files of log lines go behind --logs.");
  if (!/^[\w.:-]{4,128}$/.test(id))
    throw new UsageError(`"${id}" is no id: at least the first four characters of one.`);
  const files = [...logs, ...more];
  if (files.filter((file) => file === "-").length > 1) throw new UsageError("--logs - may come once.");
  return { id, files };
}

async function readLines({ signal, note }: CommandRun, files: string[]) {
  const { lines, skipped, cut } = await readLogLines({ files, signal });
  if (skipped > 0) note(`${skipped} ${skipped === 1 ? "line is" : "lines are"} no log line of ours.`);
  if (cut) note(`There are more log lines than can be looked at: only the first ${lines.length} were.`);
  return lines;
}
