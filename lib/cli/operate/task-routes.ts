/** The task routes of the page. An action only queues a message, and the worker does the rest. */

import { Refusal } from "@sekisho/local/web/admission.ts";
import type { Handler, Routes } from "@sekisho/local/web/site.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { readTraceId } from "@sekisho/runtime/telemetry/telemetry.ts";
import { type Task, taskSchema } from "@sekisho/verification/task/task.ts";
import { listWantedNames, namesOf } from "../names/named-task.ts";
import { cancelRefusal, sendCancel } from "../tasks/cancel-task.ts";
import { findTask } from "../tasks/find-task.ts";
import { retryRefusal, sendRetry } from "../tasks/retry-task.ts";
import { toTaskView } from "../tasks/task-view.ts";
import { redriveRefusal, sendRedrive } from "./dead-letters.ts";
import type { ConsoleSource } from "./open-source.ts";
import { toTaskRow } from "./task-row.ts";

const pageSize = 100;
const states: readonly string[] = taskSchema.shape.state.options;
const idPattern = /^[0-9a-f-]{4,36}$/;

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

  function action(operation: string, run: (task: Task) => Promise<object>): Handler {
    return async ({ parts, json, visitor: { operator } }) => {
      await json();
      const task = await find(parts);
      const result = await run(task);
      log.info("operator_asked", { operation, request_id: task.id, operator });
      return { ...result, later: zone.describeDelay() };
    };
  }

  return {
    /** A page of the tasks of one `state`, newest first, and after the first page with its `cursor`. */
    async "GET tasks"({ query }) {
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

    async "GET tasks/*"({ parts }) {
      const task = await find(parts);
      const nowMs = Date.now();
      return {
        nowMs,
        row: toTaskRow({ task, nowMs }),
        task: toTaskView({ task, nowMs }),
        endedAtMs: task.history.find(({ state }) => state === "done")?.atMs,
        traceId: readTraceId(task.trace),
        ...(await readTimeline({ task })),
        whyNot: {
          cancel: cancelRefusal(task),
          retry: retryRefusal(task),
          redrive: redriveRefusal(task),
        },
      };
    },

    /** The thread in Slack. By itself, because Slack may take a while to answer. */
    async "GET tasks/*/link"({ parts }) {
      const task = await find(parts);
      const { threads } = listWantedNames([task]);
      return { link: namesOf({ task, names: await names.find({ threads }) }).link };
    },

    /** The names of people and channels, by id. Those that Slack does not give are left out. */
    async "GET names"({ query }) {
      const foundNames = await names.find({
        users: readIds(query, "users"),
        channels: readIds(query, "channels"),
      });
      return {
        users: Object.fromEntries(foundNames.users),
        channels: Object.fromEntries(foundNames.channels),
      };
    },

    "POST tasks/*/cancel": action("cancel", async (task) => {
      const whyNot = cancelRefusal(task);
      if (whyNot !== undefined)
        throw new Refusal(409, `This task can no longer be canceled (${whyNot}).`);
      await sendCancel({ zone, task });
      return { text: "Cancel requested." };
    }),

    "POST tasks/*/retry": action("retry", async (task) => {
      const whyNot = retryRefusal(task);
      if (whyNot !== undefined) throw new Refusal(409, `This task ${whyNot}`);
      const { requestId } = await sendRetry({ zone, task });
      return { requestId, text: "Retried as a new task." };
    }),

    "POST tasks/*/redrive": action("redrive", async (task) => {
      const whyNot = redriveRefusal(task);
      if (whyNot !== undefined) throw new Refusal(409, `This task ${whyNot}`);
      await sendRedrive({ zone, task });
      return { text: "Delivery requested." };
    }),
  };
}

const maxNames = 100;

function readIds(query: URLSearchParams, name: string): string[] {
  const ids = (query.get(name) ?? "").split(",").filter((id) => id !== "");
  if (ids.length <= maxNames && ids.every((id) => /^[A-Z0-9]{1,64}$/.test(id))) return ids;
  throw new Refusal(400, `${name} must be at most ${maxNames} ids of Slack, separated by commas.`);
}
