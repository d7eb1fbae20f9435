/** `sekisho tasks list`: the tasks of the local run or of a stage, oldest first. */
import { parseArgs } from "node:util";
import { type Task, taskSchema } from "../../lambdas/verification/task/task.ts";
import { itemsOf } from "../tasks/items.ts";
import { oldestFirst } from "../tasks/oldest-first.ts";
import { atPlace, placeHelp, placeOptions, type TaskPlace } from "../tasks/place.ts";
import { rowOf } from "../tasks/task-view.ts";
import { durationText } from "../tasks/words.ts";
import { type Command, exitCodes, UsageError } from "./command.ts";

const states = taskSchema.shape.state.options;
const defaultLimit = 100;

export const tasksList: Command = {
  help: `
sekisho tasks list [--state STATE] [--thread CHANNEL/TS] [--limit N] [--json] [--stage NAME | --store FILE]

Lists the tasks that are not over, oldest first: request id, state, age, destination, channel, user,
polls or attempts, and what is next. Never a message's text.

  --state STATE  only tasks in that state: ${states.join(", ")}
  --thread T     only tasks of that thread, those that are over too: the channel's id, "/", the ts of its first message
  --limit N      so many at the most (${defaultLimit})
  --json         one JSON object a line, with the whole request id
${placeHelp}

Exit code: 0; 1 it could not be read, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { values } = parseArgs({
      args: run.words,
      options: {
        state: { type: "string" },
        thread: { type: "string" },
        limit: { type: "string", default: String(defaultLimit) },
        json: { type: "boolean", default: false },
        ...placeOptions,
      },
    });
    const state = stateOf(values.state);
    const limit = limitOf(values.limit);
    const thread = threadOf(values.thread);
    return atPlace(run, values, async (place) => {
      let shown = 0;
      for await (const task of select({ place, state, thread, signal: run.signal })) {
        if (shown === limit) {
          run.note(`There are more: --limit ${limit * 2} shows further ones.`);
          break;
        }
        shown += 1;
        const row = rowOf({ task, nowMs: Date.now() });
        run.print(values.json ? JSON.stringify(row) : lineOf(row));
      }
      if (shown === 0) run.note(`There is none ${place.where}.`);
      return run.signal.aborted ? exitCodes.interrupted : exitCodes.success;
    });
  },
};

type State = Task["state"];

async function* select({
  place,
  state,
  thread,
  signal,
}: {
  place: TaskPlace;
  state: State | undefined;
  thread: string | undefined;
  signal: AbortSignal;
}): AsyncGenerator<Task> {
  const { store } = place;
  if (thread !== undefined) {
    for await (const task of oldestFirst([itemsOf({ store, index: "thread", key: thread, signal })])) {
      if (state === undefined || task.state === state) yield task;
    }
    return;
  }
  const chosen = state === undefined ? states.filter((one) => one !== "done") : [state];
  yield* oldestFirst(chosen.map((key) => itemsOf({ store, index: "state", key, signal })));
}

function stateOf(text: string | undefined): State | undefined {
  const state = states.find((one) => one === text);
  if (text !== undefined && state === undefined) {
    throw new UsageError(`"${text}" is no state. There is: ${states.join(", ")}.`);
  }
  return state;
}

function threadOf(text: string | undefined): string | undefined {
  if (text === undefined || /^[A-Z0-9]{1,64}\/\d+\.\d+$/.test(text)) return text;
  throw new UsageError(`--thread is a channel's id, "/" and a ts, such as C012AB3CD/1712345678.000100, not "${text}".`);
}

function limitOf(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new UsageError(`--limit is a number from 1 to 999999, not "${text}".`);
  return Number(text);
}

function lineOf({
  requestId,
  state,
  ageMs,
  destination,
  channel,
  user,
  attempts,
  polls,
  next,
}: ReturnType<typeof rowOf>) {
  const counts = [...(polls > 0 ? [`polls: ${polls}`] : []), ...(attempts > 0 ? [`attempts: ${attempts}`] : [])];
  return [
    requestId.slice(0, 8),
    state.padEnd(10),
    durationText(ageMs).padStart(6),
    (destination ?? "-").padEnd(12),
    channel.padEnd(11),
    user.padEnd(11),
    counts.join(" ").padEnd(11),
    next,
  ].join("  ");
}
