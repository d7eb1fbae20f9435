/** `sekisho tasks show`: everything that is known of one task but its texts, and how it came there. */
import { parseArgs } from "node:util";
import { findTask, idIn } from "../tasks/find-task.ts";
import { atPlace, placeHelp, placeOptions } from "../tasks/place.ts";
import { viewLines, viewOf } from "../tasks/task-view.ts";
import { type Command, exitCodes } from "./command.ts";

export const tasksShow: Command = {
  help: `
sekisho tasks show ID [--json] [--stage NAME | --store FILE]

Shows a task's record, with sizes in the place of texts, and the changes of its state in order.
ID is the request id or its beginning, such as the eight characters that users see below an answer;
in a large stage the whole one is found sooner.

  --json         as a JSON object
${placeHelp}

Exit code: 0; 1 there is no such task, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { values, positionals } = parseArgs({
      args: run.words,
      allowPositionals: true,
      options: { json: { type: "boolean", default: false }, ...placeOptions },
    });
    const id = idIn(positionals);
    return atPlace(run, values, async (place) => {
      const given = { task: await findTask({ place, id, note: run.note }), nowMs: Date.now() };
      run.print(values.json ? JSON.stringify(viewOf(given), null, 2) : viewLines(given).join("\n"));
      return exitCodes.success;
    });
  },
};
