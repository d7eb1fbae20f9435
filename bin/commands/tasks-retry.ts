/** `sekisho tasks retry`: does what a task was asked once more, as a new task. */
import { parseArgs } from "node:util";
import { newTrace } from "../../lambdas/shared/trace.ts";
import type { Ask } from "../../lambdas/verification/task/messages.ts";
import { findTask, idIn } from "../tasks/find-task.ts";
import { newRetryId } from "../tasks/new-retry-id.ts";
import { atPlace, placeHelp, placeOptions } from "../tasks/place.ts";
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
      if (task.state !== "done") {
        run.note(`${task.id} is not over yet (${task.state}). sekisho tasks cancel ends it.`);
        return exitCodes.failed;
      }
      if (task.message.command) {
        run.note(
          `${task.id} was a slash command, which leaves no message to be read again. Use the command once more.`,
        );
        return exitCodes.failed;
      }
      if (task.outcome?.type === "canceling" || (task.message.unaddressed && task.deadlineAtMs === undefined)) {
        run.note(`${task.id} was the word to cancel. sekisho tasks cancel ends a task.`);
        return exitCodes.failed;
      }
      const retryOf = task.retryOf ?? task.id;
      const requestId = await newRetryId({ place, originalId: retryOf });
      // Whatever is left of the text: it is read anew from Slack.
      const message = { ...task.message, text: "" };
      const ask: Ask = { type: "ask", requestId, receivedAtMs: Date.now(), trace: newTrace(), message, retryOf };
      await place.queue.send({ body: JSON.stringify(ask), group: message.team });
      const whyLater = place.whyLater();
      if (whyLater !== undefined) run.note(whyLater);
      run.print(values.json ? JSON.stringify({ requestId, retryOf }) : `${requestId}: retries ${retryOf}`);
      return exitCodes.success;
    });
  },
};
