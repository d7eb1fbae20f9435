/** `ListTasks`: the caller's A2A tasks in pages, the latest change of state first. */
import { setImmediate } from "node:timers/promises";
import type { OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import { type A2aTask, toA2aState } from "@sekisho/contracts/a2a/task.ts";
import { parseJson } from "@sekisho/runtime/untrusted-input.ts";
import * as z from "zod";
import { createParamsError } from "../params-error.ts";
import type { ExecutionTask } from "../tasks/execution-task.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { OperationHandler } from "./operation.ts";
import { toA2aTask } from "./view.ts";

/** The most records to read for one page, matching or not. `totalSize` counts no further. */
const maxRecords = 1000;
/** How long to read records, and how long to go on counting once the page is full. */
const maxLookMs = 1000;
const maxCountMs = 500;
/** The size at which a page ends. A function's response is limited to 6 MB, in which each quote takes two bytes. */
const maxPageBytes = 2_500_000;

type Params = OperationParams<"ListTasks">;
type PagePosition = Pick<PageToken, "cursor" | "lastAtMs" | "lastId">;

/**
 * Starts or ends the page's tasks first if that is due, as every read does. `totalSize` is counted for the first page only, and only as far
 * as the limits above allow.
 */
export function listTasks(request: {
  tasks: Pick<Tasks, "list" | "advanceIfDue">;
  pollAfterMs: number;
  now?: () => number;
}): OperationHandler<"ListTasks"> {
  const { tasks, pollAfterMs, now = Date.now } = request;
  return async ({ params, caller: { principal } }) => {
    const token = params.pageToken === undefined ? undefined : decodePageToken(params.pageToken);
    const sinceMs =
      params.statusTimestampAfter === undefined ? 0 : Date.parse(params.statusTimestampAfter);
    const page = createPage({ maxTasks: params.pageSize });
    let matchCount = 0;
    let records = 0;
    let lastPosition: PagePosition | undefined;
    let nextPosition: PagePosition | undefined;
    const startedAtMs = now();
    const isLate = () =>
      lastPosition !== undefined &&
      now() - startedAtMs > (nextPosition === undefined ? maxLookMs : maxCountMs);
    for await (const { task: storedTask, cursor } of newestTasks({
      tasks,
      principal,
      position: token,
    })) {
      if (storedTask.changedAtMs < sinceMs) break;
      // The next page begins after the last task of this page, or where the reading stopped.
      if (nextPosition !== undefined && token !== undefined) break;
      if (records === maxRecords || isLate()) {
        nextPosition ??= lastPosition;
        break;
      }
      records += 1;
      const task =
        nextPosition === undefined
          ? await tasks.advanceIfDue(storedTask).catch(() => storedTask)
          : storedTask;
      if (matches({ task, params })) {
        matchCount += 1;
        if (!page.add(() => toPageTask({ task, params, pollAfterMs })))
          nextPosition ??= lastPosition;
      }
      lastPosition = { cursor, lastAtMs: storedTask.listedAtMs ?? 0, lastId: storedTask.id };
    }
    const totalSize = token?.total ?? matchCount;
    const nextPageToken =
      nextPosition === undefined ? "" : encodePageToken({ ...nextPosition, total: totalSize });
    return { tasks: page.tasks, nextPageToken, pageSize: params.pageSize, totalSize };
  };
}

/** `add` returns false and adds nothing once the page is full. */
function createPage({ maxTasks }: { maxTasks: number }) {
  const tasks: A2aTask[] = [];
  let bytes = 0;
  let isFull = false;
  return {
    tasks,
    add(view: () => A2aTask): boolean {
      isFull ||= tasks.length === maxTasks;
      if (isFull) return false;
      const task = view();
      bytes += Buffer.byteLength(JSON.stringify(task));
      isFull = tasks.length > 0 && bytes > maxPageBytes;
      if (!isFull) tasks.push(task);
      return !isFull;
    },
  };
}

function matches({
  task,
  params: { contextId, status },
}: {
  task: ExecutionTask;
  params: Params;
}): boolean {
  const state = toA2aState({ state: task.state, kind: task.question?.kind });
  return (contextId ?? task.a2a?.contextId) === task.a2a?.contextId && (status ?? state) === state;
}

/** Leaves out the history unless a length is given. Without artifacts it also leaves out an answer's message, which repeats one of them. */
function toPageTask(request: {
  task: ExecutionTask;
  params: Params;
  pollAfterMs: number;
}): A2aTask {
  const { task, pollAfterMs } = request;
  const { historyLength = 0, includeArtifacts = false } = request.params;
  const view = toA2aTask({ task, historyLength, pollAfterMs });
  if (includeArtifacts) return view;
  const { artifacts: _artifacts, status, ...others } = view;
  const { message, ...bare } = status;
  return {
    ...others,
    status: message === undefined || task.state === "completed" ? bare : { ...bare, message },
  };
}

/** Small, because a local store blocks the event loop while it reads a page. */
const limit = 20;

/** `cursor` is where the store's page with this task begins. Throws `invalid_params` for an invalid cursor. */
async function* newestTasks(request: {
  tasks: Pick<Tasks, "list">;
  principal: string;
  position: Pick<PageToken, "cursor" | "lastAtMs" | "lastId"> | undefined;
}): AsyncGenerator<{ task: ExecutionTask; cursor: string | undefined }> {
  const { tasks, principal, position } = request;
  let cursor = position?.cursor;
  do {
    const page = await tasks.list({ principal, cursor, limit }).catch(refuseForeignCursor);
    for (const task of page.items)
      if (position === undefined || isOlder({ task, than: position })) yield { task, cursor };
    cursor = page.cursor;
    if (cursor !== undefined) await setImmediate();
  } while (cursor !== undefined);
}

/** Compares in the order of the index, in which tasks of the same time are sorted by id, the greatest first. */
function isOlder({
  task,
  than,
}: {
  task: ExecutionTask;
  than: Pick<PageToken, "lastAtMs" | "lastId">;
}): boolean {
  const { listedAtMs = 0, id } = task;
  return listedAtMs < than.lastAtMs || (listedAtMs === than.lastAtMs && id < than.lastId);
}

function refuseForeignCursor(error: unknown): never {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  throw cause instanceof RangeError ? createPageTokenError() : error;
}

/** The position after the task `lastId` in the store's page that begins at `cursor`, and the count of the first page. */
const tokenSchema = z.strictObject({
  cursor: z.string().min(1).max(700).optional(),
  lastAtMs: z.int().min(0),
  lastId: z.string().min(1).max(128),
  total: z.int().min(0),
});
type PageToken = z.infer<typeof tokenSchema>;

function encodePageToken(token: PageToken): string {
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

/** Throws `invalid_params` for an invalid token. */
function decodePageToken(text: string): PageToken {
  const token = tokenSchema.safeParse(parseJson(Buffer.from(text, "base64url").toString())).data;
  if (token === undefined) throw createPageTokenError();
  return token;
}

function createPageTokenError(): Error {
  return createParamsError([
    { path: ["pageToken"], message: "is not a page token of this listing" },
  ]);
}
