/** The task routes of the page. An action only queues a message, and the worker does the rest. */

import { Refusal } from "@sekisho/local/web/admission.ts";
import type {
  ActionResult,
  NamesById,
  TaskAction,
  TaskDetail,
  TaskPage,
  ThreadLink,
} from "@sekisho/local/web/operators-api.ts";
import type { Handler, Routes } from "@sekisho/local/web/site.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import { listWantedNames, namesOf } from "../names/named-task.ts";
import { cancelRefusal, sendCancel } from "../tasks/cancel-task.ts";
import { findTask } from "../tasks/find-task.ts";
import { retryRefusal, sendRetry } from "../tasks/retry-task.ts";
import type { TaskZone } from "../tasks/stored-task.ts";
import { toTaskView } from "../tasks/task-view.ts";
import { redriveRefusal, sendRedrive } from "./dead-letters.ts";
import type { ConsoleSource } from "./open-source.ts";
import { toTaskRow } from "./task-row.ts";

const pageSize = 100;
const states: readonly string[] = taskSchema.shape.state.options;
const idPattern = /^[0-9a-f-]{4,36}$/;

type Action = {
  /** Undefined if the action is possible. */
  refusal(task: Task): string | undefined;
  explain?(refusal: string): string;
  run(target: { zone: TaskZone; task: Task }): Promise<ActionResult>;
};

const actions: Record<TaskAction, Action> = {
  cancel: {
    refusal: cancelRefusal,
    explain: (outcome) => `can no longer be canceled (${outcome}).`,
    run: (target) => sendCancel(target).then(() => ({ text: "Cancel requested." })),
  },
  retry: {
    refusal: retryRefusal,
    async run(target) {
      const { requestId } = await sendRetry(target);
      return { requestId, text: "Retried as a new task." };
    },
  },
  redrive: {
    refusal: redriveRefusal,
    run: (target) => sendRedrive(target).then(() => ({ text: "Delivery requested." })),
  },
};

type TaskRouteOptions = {
  source: Pick<ConsoleSource, "zone" | "readTimeline" | "names">;
  log: Log;
};

export function createTaskRoutes({
  source: { zone, readTimeline, names },
  log,
}: TaskRouteOptions): Routes {
  /** By the whole request id, or the beginning of one. Rejects with a message for a person. */
  async function find([givenId = ""]: readonly string[]): Promise<Task> {
    const id = givenId.toLowerCase();
    if (idPattern.test(id)) return findTask({ zone, id, note: () => {} });
    throw new Refusal(404, "No task has this ID.");
  }

  function createAction([operation, { refusal, explain, run }]: [string, Action]) {
    const handler: Handler = async ({ parts, json, visitor: { operator } }) => {
      await json();
      const task = await find(parts);
      const reason = refusal(task);
      if (reason !== undefined) throw new Refusal(409, `This task ${explain?.(reason) ?? reason}`);
      const result = await run({ zone, task });
      log.info("operator_asked", { operation, request_id: task.id, operator });
      return { ...result, later: zone.describeDelay() } satisfies ActionResult;
    };
    return [`POST tasks/*/${operation}`, handler] as const;
  }

  return {
    /** A page of the tasks of one `state`, newest first, and after the first page with its `cursor`. */
    async "GET tasks"({ query }): Promise<TaskPage> {
      const state = query.get("state") ?? "";
      if (!states.includes(state))
        throw new Refusal(400, `A state is needed: ${states.join(", ")}.`);
      const page = { state, cursor: query.get("cursor") ?? undefined, limit: pageSize };
      const { ids, cursor } = await zone.newestIds(page).catch((error: unknown) => {
        throw error instanceof RangeError
          ? new Refusal(400, "The cursor is not one of this list.")
          : error;
      });
      const storedItems = await Promise.all(ids.map((id) => zone.store.get({ id })));
      const tasks = storedItems.flatMap((item) => item?.task ?? []);
      return { rows: tasks.map((task) => toTaskRow({ task, nowMs: Date.now() })), cursor };
    },

    async "GET tasks/*"({ parts }): Promise<TaskDetail> {
      const task = await find(parts);
      const nowMs = Date.now();
      return {
        row: toTaskRow({ task, nowMs }),
        task: toTaskView({ task, nowMs }),
        endedAtMs: task.history.find(({ state }) => state === "done")?.atMs,
        traceId: readTraceId(task.trace),
        ...(await readTimeline({ task })),
        whyNot: Object.fromEntries(
          Object.entries(actions).map(([name, { refusal }]) => [name, refusal(task)]),
        ),
      };
    },

    /** The thread in Slack. By itself, because Slack may take a while to answer. */
    async "GET tasks/*/link"({ parts }): Promise<ThreadLink> {
      const task = await find(parts);
      const { threads } = listWantedNames([task]);
      return { link: namesOf({ task, names: await names.find({ threads }) }).link };
    },

    async "GET names"({ query }): Promise<NamesById> {
      const [users, channels] = [readIds(query, "users"), readIds(query, "channels")];
      const foundNames = await names.find({ users, channels });
      return {
        users: Object.fromEntries(foundNames.users),
        channels: Object.fromEntries(foundNames.channels),
      };
    },

    ...Object.fromEntries(Object.entries(actions).map(createAction)),
  };
}

const maxNames = 100;

function readIds(query: URLSearchParams, name: string): string[] {
  const ids = (query.get(name) ?? "").split(",").filter((id) => id !== "");
  if (ids.length <= maxNames && ids.every((id) => /^[A-Z0-9]{1,64}$/.test(id))) return ids;
  throw new Refusal(400, `${name} must be at most ${maxNames} ids of Slack, separated by commas.`);
}
