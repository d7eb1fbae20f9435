/** `sekisho tasks`: lists, shows, cancels and retries the tasks of the local run or of a stage. */

import { createTimeline } from "@sekisho/local/recorder/timeline.ts";
import { formatDuration } from "@sekisho/local/web/duration.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import {
  awsExits,
  type CommandRun,
  defineCommand,
  exitCodes,
  flag,
  option,
  UsageError,
} from "../command.ts";
import { formatNamed, listWantedNames, namesOf } from "../names/named-task.ts";
import { formatTable } from "../table.ts";
import { listItems } from "../zone/list-items.ts";
import { zoneOptions } from "../zone/zone.ts";
import { cancelRefusal, sendCancel, waitForEnd } from "./cancel-task.ts";
import { readExecutionRecord } from "./execution-record.ts";
import { findTask, readTaskId } from "./find-task.ts";
import { retryRefusal, sendRetry } from "./retry-task.ts";
import { mergeOldestFirst, type TaskZone } from "./stored-task.ts";
import { formatTaskSummary } from "./task-summary.ts";
import { toListedTask, toTaskView } from "./task-view.ts";
import { type NamedTaskZone, withTaskZone } from "./task-zone.ts";
import { describeOutcome } from "./text.ts";

const states = taskSchema.shape.state.options;
const defaultLimit = "100";
const waitMs = 120_000;
const json = flag("prints a JSON object");

export const tasksList = defineCommand({
  name: "tasks list",
  about: `
Lists the unfinished tasks, oldest first: request id, state, age, destination, channel, person, attempts, next step and
link. It shows no texts.

With a bot token (SLACK_BOT_TOKEN, or the stage's secret if your credentials may read it) it shows names, by the scopes
users:read and channels:read (groups:read, im:read, mpim:read for other channels). Otherwise it shows ids. Names are not
stored.`,
  options: {
    state: option("STATE", `only tasks in that state: ${states.join(", ")}`),
    thread: option(
      "CHANNEL/TS",
      "only tasks of that thread, including finished ones: the channel's id and the ts of its first message",
    ),
    limit: { ...option("N", `lists at most N tasks (${defaultLimit})`), default: defaultLimit },
    json: flag("prints one JSON object per line, with the whole request id"),
    ...zoneOptions,
  },
  exits: awsExits("the tasks cannot be read"),
  async run(run) {
    const { values, signal, note } = run;
    const state = readState(values.state);
    const limit = readLimit(values.limit);
    const thread = readThread(values.thread);
    return withTaskZone(run, values, async (zone) => {
      const tasks: Task[] = [];
      for await (const task of select({ zone, state, thread, signal })) {
        tasks.push(task);
        if (tasks.length > limit) break;
      }
      const shownTasks = tasks.slice(0, limit);
      const names = await zone.names.find(listWantedNames(shownTasks));
      const rows = shownTasks.map((task) => toListedTask({ task, nowMs: Date.now(), names }));
      for (const line of values.json ? rows.map((row) => JSON.stringify(row)) : formatList(rows))
        run.print(line);
      if (tasks.length > limit) note(`There are more tasks. Use --limit ${limit * 2} to see more.`);
      if (rows.length === 0)
        note(`There are no such tasks ${zone.where}. Tasks of sekisho send are not stored here.`);
      return signal.aborted ? exitCodes.interrupted : exitCodes.success;
    });
  },
});

type State = Task["state"];
type ListedTask = ReturnType<typeof toListedTask>;

type Selection = {
  zone: TaskZone;
  state: State | undefined;
  thread: string | undefined;
  signal: AbortSignal;
};

async function* select({
  zone: { store, openTasks },
  state,
  thread,
  signal,
}: Selection): AsyncGenerator<Task> {
  if (thread !== undefined) {
    for await (const task of mergeOldestFirst([
      listItems({ store, index: "thread", key: thread, signal }),
    ])) {
      if (state === undefined || task.state === state) yield task;
    }
  } else if (state === undefined) yield* openTasks();
  else yield* mergeOldestFirst([listItems({ store, index: "state", key: state, signal })]);
}

function readState(text: string | undefined): State | undefined {
  const state = states.find((one) => one === text);
  if (text === undefined || state !== undefined) return state;
  throw new UsageError(`--state: "${text}" is not a state. The states are: ${states.join(", ")}.`);
}

function readThread(text: string | undefined): string | undefined {
  if (text === undefined || /^[A-Z0-9]{1,64}\/\d+\.\d+$/.test(text)) return text;
  throw new UsageError(
    `--thread must be a channel's id, "/" and a ts, such as C012AB3CD/1712345678.000100, not "${text}".`,
  );
}

function readLimit(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new UsageError(`--limit must be a number from 1 to 999999, not "${text}".`);
}

const heads = ["REQUEST", "STATE", "AGE", "DESTINATION", "CHANNEL", "PERSON", "CALLS", "NEXT"];

function formatList(rows: readonly ListedTask[]): string[] {
  if (rows.length === 0) return [];
  const hasLinks = rows.some(({ link }) => link !== undefined);
  return formatTable([hasLinks ? [...heads, "THREAD"] : heads, ...rows.map(toCells)]);
}

function toCells(row: ListedTask): string[] {
  const { requestId, state, ageMs, destination, channel, user, attempts, polls, next } = row;
  const counts = [polls > 0 && `polls: ${polls}`, attempts > 0 && `attempts: ${attempts}`]
    .filter(Boolean)
    .join(" ");
  const [place, person] = [formatNamed(channel, row.channelName), formatNamed(user, row.userName)];
  return [
    requestId.slice(0, 8),
    state,
    formatDuration(ageMs),
    destination ?? "-",
    place,
    person,
    counts || "-",
    next,
    row.link ?? "",
  ];
}

export const tasksShow = defineCommand({
  name: "tasks show",
  args: "ID",
  about: `
Shows a task and its timeline through both zones, by its request id or the beginning of it. The Execution zone's steps come
from its record, if that is on this machine or in the same account. Texts are replaced by their sizes.`,
  options: { json: flag("prints the whole record as a JSON object"), ...zoneOptions },
  exits: awsExits("there is no such task"),
  run: (run) =>
    withTask(run, async ({ zone, task }) => {
      const names = await zone.names.find(listWantedNames([task]));
      const execution = await readExecutionRecord({ at: zone.at, task, signal: run.signal });
      if (execution.note !== undefined) run.note(execution.note);
      const nowMs = Date.now();
      const timeline = createTimeline({ task, execution: execution.task, nowMs });
      const view = { task, timeline, nowMs, names };
      const record = { ...toTaskView(view), ...namesOf(view), timeline };
      run.print(
        run.values.json ? JSON.stringify(record, null, 2) : formatTaskSummary(view).join("\n"),
      );
      return exitCodes.success;
    }),
});

export const tasksCancel = defineCommand({
  name: "tasks cancel",
  args: "ID",
  about: `
Asks the zone to cancel a task, by its request id or the beginning of it. The bot says so in the thread. If the result comes
first, it becomes the answer.`,
  options: {
    wait: flag(`waits until the task has ended, for at most ${waitMs / 60_000} minutes`),
    json,
    ...zoneOptions,
  },
  exits: awsExits("no such task, it has ended, it did not end in time"),
  run: (run) =>
    withTask(run, async ({ zone, task }) => {
      const { values, signal, note } = run;
      const refusal = cancelRefusal(task);
      if (refusal !== undefined) {
        note(`${task.id} has already ended (${refusal}).`);
        return exitCodes.failed;
      }
      await sendCancel({ zone, task });
      noteDelay(run, zone);
      if (!values.wait) {
        const answer = { requestId: task.id, state: task.state, asked: true };
        run.print(
          values.json
            ? JSON.stringify(answer)
            : `${task.id}: cancel requested (${task.state}). The bot posts the outcome.`,
        );
        return exitCodes.success;
      }
      note(`Cancel requested. State: ${task.state}.`);
      const onChange = ({ state }: Task) => note(`State: ${state}.`);
      const endedTask = await waitForEnd({ zone, task, timeoutMs: waitMs, signal, onChange });
      const outcome = describeOutcome(endedTask);
      if (values.json)
        run.print(
          JSON.stringify({
            requestId: endedTask.id,
            state: endedTask.state,
            outcome: outcome ?? null,
          }),
        );
      else run.print(`${endedTask.id}: ${outcome ?? `has not ended yet (${endedTask.state})`}`);
      return endedTask.state === "done" ? exitCodes.success : exitCodes.failed;
    }),
});

export const tasksRetry = defineCommand({
  name: "tasks retry",
  args: "ID",
  about: `
Runs a finished task again, as a new task with its own request id: the worker reads the text from Slack again, and the agent
runs again. Requests that come before the new task begins make only one.`,
  options: { json, ...zoneOptions },
  exits: awsExits("no such task, it has not ended"),
  run: (run) =>
    withTask(run, async ({ zone, task }) => {
      const refusal = retryRefusal(task);
      if (refusal !== undefined) {
        run.note(`${task.id} ${refusal}`);
        return exitCodes.failed;
      }
      const { requestId, retryOf } = await sendRetry({ zone, task });
      noteDelay(run, zone);
      run.print(
        run.values.json
          ? JSON.stringify({ requestId, retryOf })
          : `${requestId}: retries ${retryOf}`,
      );
      return exitCodes.success;
    }),
});

type TaskRun = CommandRun & { values: Parameters<typeof withTaskZone>[1]; positionals: string[] };

/** Runs `work` on the task that the arguments name. */
async function withTask(
  run: TaskRun,
  work: (target: { zone: NamedTaskZone; task: Task }) => Promise<number>,
) {
  const id = readTaskId(run.positionals);
  return withTaskZone(run, run.values, async (zone) =>
    work({ zone, task: await findTask({ zone, id, note: run.note }) }),
  );
}

function noteDelay({ note }: CommandRun, zone: TaskZone): void {
  const delay = zone.describeDelay();
  if (delay !== undefined) note(delay);
}
