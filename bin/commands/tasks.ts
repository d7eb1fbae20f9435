/** `sekisho tasks`: lists, shows, cancels and retries the tasks of the local run or of a stage. */
import { parseArgs } from "node:util";
import { type Task, taskSchema } from "../../lambdas/verification/task/task.ts";
import { cancelRefusal, sendCancel } from "../../lib/cli/tasks/cancel-task.ts";
import { findTask, readTaskId } from "../../lib/cli/tasks/find-task.ts";
import { listItems } from "../../lib/cli/tasks/items.ts";
import { mergeOldestFirst } from "../../lib/cli/tasks/oldest-first.ts";
import { withTaskPlace } from "../../lib/cli/tasks/place.ts";
import { retryRefusal, sendRetry } from "../../lib/cli/tasks/retry-task.ts";
import type { TaskPlace } from "../../lib/cli/tasks/stored-task.ts";
import { formatTaskView, toListedTask, toTaskView } from "../../lib/cli/tasks/task-view.ts";
import { describeOutcome, formatDuration } from "../../lib/cli/tasks/text.ts";
import { waitForEnd } from "../../lib/cli/tasks/wait-for-end.ts";
import { zoneHelp, zoneOptions } from "../../lib/cli/zone/zone.ts";
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
${zoneHelp}

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
        ...zoneOptions,
      },
    });
    const state = stateOf(values.state);
    const limit = limitOf(values.limit);
    const thread = threadOf(values.thread);
    return withTaskPlace(run, values, async (place) => {
      let shown = 0;
      for await (const task of select({ place, state, thread, signal: run.signal })) {
        if (shown === limit) {
          run.note(`There are more: --limit ${limit * 2} shows further ones.`);
          break;
        }
        shown += 1;
        const row = toListedTask({ task, nowMs: Date.now() });
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
  if (thread === undefined && state === undefined) return yield* place.openTasks();
  if (thread !== undefined) {
    for await (const task of mergeOldestFirst([listItems({ store, index: "thread", key: thread, signal })])) {
      if (state === undefined || task.state === state) yield task;
    }
    return;
  }
  if (state !== undefined) yield* mergeOldestFirst([listItems({ store, index: "state", key: state, signal })]);
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
}: ReturnType<typeof toListedTask>) {
  const counts = [...(polls > 0 ? [`polls: ${polls}`] : []), ...(attempts > 0 ? [`attempts: ${attempts}`] : [])];
  return [
    requestId.slice(0, 8),
    state.padEnd(10),
    formatDuration(ageMs).padStart(6),
    (destination ?? "-").padEnd(12),
    channel.padEnd(11),
    user.padEnd(11),
    counts.join(" ").padEnd(11),
    next,
  ].join("  ");
}

const taskOptions = { json: { type: "boolean", default: false }, ...zoneOptions } as const;

/** The arguments of a command about one task. */
function parseTaskArgs(words: string[]) {
  const { values, positionals } = parseArgs({ args: words, allowPositionals: true, options: taskOptions });
  return { id: readTaskId(positionals), values };
}

// `sekisho tasks show`: everything that is known of one task but its texts, and how it came there.

export const tasksShow: Command = {
  help: `
sekisho tasks show ID [--json] [--stage NAME | --store FILE]

Shows a task's record, with sizes in the place of texts, and the changes of its state in order.
ID is the request id or its beginning, such as the eight characters that users see below an answer;
in a large stage the whole one is found sooner.

  --json         as a JSON object
${zoneHelp}

Exit code: 0; 1 there is no such task, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { id, values } = parseTaskArgs(run.words);
    return withTaskPlace(run, values, async (place) => {
      const given = { task: await findTask({ place, id, note: run.note }), nowMs: Date.now() };
      run.print(values.json ? JSON.stringify(toTaskView(given), null, 2) : formatTaskView(given).join("\n"));
      return exitCodes.success;
    });
  },
};

// `sekisho tasks cancel`: ends a task that is under way.

const waitMs = 120_000;

export const tasksCancel: Command = {
  help: `
sekisho tasks cancel ID [--wait] [--json] [--stage NAME | --store FILE]

Asks the zone to end a task: the Execution zone is told, the agent's signal aborts, and the thread reads that
the task was canceled. A task whose result comes first ends with that. ID may be the beginning of a request id.

  --wait         until the task is over, ${waitMs / 60_000} minutes at the longest
  --json         as a JSON object
${zoneHelp}

Exit code: 0; 1 it is over already or not in time, there is none, or AWS refused; 2 bad usage or configuration;
3 AWS not reachable.
`,
  async run(run) {
    const { values, positionals } = parseArgs({
      args: run.words,
      allowPositionals: true,
      options: { wait: { type: "boolean", default: false }, ...taskOptions },
    });
    const id = readTaskId(positionals);
    return withTaskPlace(run, values, async (place) => {
      const task = await findTask({ place, id, note: run.note });
      const known = cancelRefusal(task);
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
      const outcome = describeOutcome(ended);
      if (values.json) run.print(JSON.stringify({ requestId: ended.id, state: ended.state, outcome: outcome ?? null }));
      else run.print(`${ended.id}: ${outcome ?? `not over yet (${ended.state})`}`);
      return ended.state === "done" ? exitCodes.success : exitCodes.failed;
    });
  },
};

// `sekisho tasks retry`: does what a task was asked once more, as a new task.

export const tasksRetry: Command = {
  help: `
sekisho tasks retry ID [--json] [--stage NAME | --store FILE]

Does what a task that is over was asked once more, as a new task with an id of its own: its agent runs again.
The message's text is read anew from Slack, and the thread reads that it is a retry. Asked for twice before the
new task has begun it is one task. ID may be the beginning of a request id.

  --json         as a JSON object
${zoneHelp}

Exit code: 0; 1 it is not over, there is none, or AWS refused; 2 bad usage or configuration; 3 AWS not reachable.
`,
  async run(run) {
    const { id, values } = parseTaskArgs(run.words);
    return withTaskPlace(run, values, async (place) => {
      const task = await findTask({ place, id, note: run.note });
      const whyNot = retryRefusal(task);
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
