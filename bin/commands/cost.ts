/** `sekisho cost`: what tasks cost on AWS, from measured calls and published prices. */
import { parseArgs } from "node:util";
import { readMeasuredCalls } from "../aws/cost/calls.ts";
import { reckon } from "../aws/cost/reckon.ts";
import { costTable } from "../aws/cost/table.ts";
import { writeSection } from "../aws/cost/write-section.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

export const cost: Command = {
  help: `
sekisho cost [--tasks N] [--json | --markdown]

Shows the AWS calls of a task and the dollars for N tasks, of a sync task and of one that takes ten minutes, for
each kind of Execution zone. The calls were measured by the rehearsal; assumptions and prices are printed along.

  --tasks N    1000000 unless told otherwise
  --json       all of it as one JSON object
  --markdown   writes it into docs/operations.md, between its markers
`,
  async run({ words, directory, print }) {
    const { values } = parseArgs({
      args: words,
      options: { tasks: { type: "string" }, json: { type: "boolean" }, markdown: { type: "boolean" } },
    });
    const { tasks = "1000000", json, markdown } = values;
    if (!/^[1-9]\d{0,11}$/.test(tasks)) throw new UsageError(`--tasks: "${tasks}" is no number of tasks.`);
    if (json && markdown) throw new UsageError("--json or --markdown, not both.");
    const reckoning = reckon({ tasks: Number(tasks), measured: readMeasuredCalls() });
    if (json) print(JSON.stringify(reckoning, null, 2));
    else if (markdown) print(`Written to ${writeSection({ directory, table: costTable(reckoning) })}.`);
    else print(costTable(reckoning));
    return exitCodes.success;
  },
};
