/** `sekisho tasks retry`: does what a task was asked once more, as a new task. */
import { parseArgs } from "node:util";
import { findTask, idIn } from "../tasks/find-task.ts";
import { atPlace, placeHelp, placeOptions } from "../tasks/place.ts";
import { sendRetry, whyNotRetry } from "../tasks/retry-task.ts";
import { type Command, exitCodes } from "./command.ts";

export const tasksRetry: Command = {
  help: `
sekisho tasks retry ID [--json] [--stage NAME | --store FILE]

Does what a task that is over was asked once more, as a new task with an id of its own: its agent runs again.
The message's text is read anew from Slack, and the thread reads that it is a retry. Asked for twice before the
new task has begun it is one task. ID may be the beginning of a request id.

  --json         as a JSON object
${placeHelp}

Exit code: 0; 1 it is not over, there is none, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { values, positionals } = parseArgs({
      args: run.words,
      allowPositionals: true,
      options: { json: { type: "boolean", default: false }, ...placeOptions },
    });
    const id = idIn(positionals);
    return atPlace(run, values, async (place) => {
      const task = await findTask({ place, id, note: run.note });
      const whyNot = whyNotRetry(task);
      if (whyNot !== undefined) {
        run.note(`${task.id} ${whyNot}`);
        return exitCodes.failed;
      }
      const { requestId, retryOf } = await sendRetry({ place, task });
      const whyLater = place.whyLater();
      if (whyLater !== undefined) run.note(whyLater);
      run.print(values.json ? JSON.stringify({ requestId, retryOf }) : `${requestId}: retries ${retryOf}`);
      return exitCodes.success;
    });
  },
};
