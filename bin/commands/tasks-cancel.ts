/** `sekisho tasks cancel`: ends a task that is under way. */
import { parseArgs } from "node:util";
import { sendCancel, whyNotCancel } from "../tasks/cancel-task.ts";
import { findTask, idIn } from "../tasks/find-task.ts";
import { atPlace, placeHelp, placeOptions } from "../tasks/place.ts";
import { waitForEnd } from "../tasks/wait-for-end.ts";
import { outcomeWords } from "../tasks/words.ts";
import { type Command, exitCodes } from "./command.ts";

const waitMs = 120_000;

export const tasksCancel: Command = {
  help: `
sekisho tasks cancel ID [--wait] [--json] [--stage NAME | --store FILE]

Asks the zone to end a task: the Execution zone is told, the agent's signal aborts, and the thread reads that
the task was canceled. A task whose result comes first ends with that. ID may be the beginning of a request id.

  --wait         until the task is over, ${waitMs / 60_000} minutes at the longest
  --json         as a JSON object
${placeHelp}

Exit code: 0; 1 it is over already or not in time, there is none, or AWS refused; 2 bad usage or configuration;
3 AWS not reachable.
`,
  async run(run) {
    const { values, positionals } = parseArgs({
      args: run.words,
      allowPositionals: true,
      options: {
        wait: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        ...placeOptions,
      },
    });
    const id = idIn(positionals);
    return atPlace(run, values, async (place) => {
      const task = await findTask({ place, id, note: run.note });
      const known = whyNotCancel(task);
      if (known !== undefined) {
        run.note(`${task.id} cannot be canceled any more (${known}).`);
        return exitCodes.failed;
      }
      await sendCancel({ place, task });
      const whyLater = place.whyLater();
      if (whyLater !== undefined) run.note(whyLater);
      if (!values.wait) {
        const asked = { requestId: task.id, state: task.state, asked: true };
        run.print(
          values.json ? JSON.stringify(asked) : `${task.id}: asked to end (${task.state}); its thread is told.`,
        );
        return exitCodes.success;
      }
      run.note(`Asked to end; it is ${task.state}.`);
      const ended = await waitForEnd({
        place,
        task,
        timeoutMs: waitMs,
        signal: run.signal,
        changed: ({ state }) => run.note(`It is ${state}.`),
      });
      const outcome = outcomeWords(ended);
      if (values.json) run.print(JSON.stringify({ requestId: ended.id, state: ended.state, outcome: outcome ?? null }));
      else run.print(`${ended.id}: ${outcome ?? `not over yet (${ended.state})`}`);
      return ended.state === "done" ? exitCodes.success : exitCodes.failed;
    });
  },
};
