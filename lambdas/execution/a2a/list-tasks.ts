/** `ListTasks`: the caller's tasks that came over A2A, page by page, the newest change of state first. */
import { setImmediate } from "node:timers/promises";
import * as z from "zod";
import type { OperationParams } from "../../../contracts/a2a/operations.ts";
import { type A2aTask, toA2aState } from "../../../contracts/a2a/task.ts";
import { createParamsError } from "../http/exchange.ts";
import type { ExecutionTask } from "../tasks/execution-task.ts";
import type { Tasks } from "../tasks/tasks.ts";
import type { OperationHandler } from "./operation.ts";
import { toA2aTask } from "./view.ts";

/** So many records are looked at for one page, whether they match or not; `totalSize` counts no further. */
const maxRecords = 1000;
/** So long they are looked at, and so long they are counted where the page has all that it may. */
const maxLookMs = 1000;
const maxCountMs = 500;
/** A page ends before it grows larger, if it has a task: a function's answer may have 6 MB, in which each quote takes two bytes. */
const maxPageBytes = 2_500_000;

type Params = OperationParams<"ListTasks">;
type PagePosition = Pick<PageToken, "cursor" | "lastAtMs" | "lastId">;

/**
 * What is due to the tasks of the page (to be started, given up, expired) is done first, as for every read. `totalSize` is of
 * the first page's moment, and counts what could be counted in bounded time.
 */
export function listTasks({
  tasks,
  pollAfterMs,
  now = Date.now,
}: {
  tasks: Pick<Tasks, "list" | "advanceIfDue">;
  pollAfterMs: number;
  now?: () => number;
}): OperationHandler<"ListTasks"> {
  return async ({ params, caller: { principal } }) => {
    const token = params.pageToken === undefined ? undefined : decodePageToken(params.pageToken);
    const sinceMs = params.statusTimestampAfter === undefined ? 0 : Date.parse(params.statusTimestampAfter);
    const page = createPage({ maxTasks: params.pageSize });
    let matching = 0;
    let records = 0;
    let last: PagePosition | undefined;
    let rest: PagePosition | undefined;
    const startedAtMs = now();
    const isLate = () => last !== undefined && now() - startedAtMs > (rest === undefined ? maxLookMs : maxCountMs);
    for await (const { task: stored, cursor } of newestTasks({ tasks, principal, after: token })) {
      if (stored.changedAtMs < sinceMs) break;
      // What is left begins after the last task of the page, or where the looking ended.
      if (rest !== undefined && token !== undefined) break;
      if (records === maxRecords || isLate()) {
        rest ??= last;
        break;
      }
      records += 1;
      const task = rest === undefined ? await tasks.advanceIfDue(stored).catch(() => stored) : stored;
      if (matches({ task, params })) {
        matching += 1;
        if (!page.add(() => toPageTask({ task, params, pollAfterMs }))) rest ??= last;
      }
      last = { cursor, lastAtMs: stored.listedAtMs ?? 0, lastId: stored.id };
    }
    const totalSize = token?.total ?? matching;
    const nextPageToken = rest === undefined ? "" : encodePageToken({ ...rest, total: totalSize });
    return { tasks: page.tasks, nextPageToken, pageSize: params.pageSize, totalSize };
  };
}

/** `add` is false, and adds nothing, once the page is full. */
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

function matches({ task, params: { contextId, status } }: { task: ExecutionTask; params: Params }): boolean {
  const state = toA2aState({ state: task.state, kind: task.question?.kind });
  return (contextId ?? task.a2a?.contextId) === task.a2a?.contextId && (status ?? state) === state;
}

/** Without history where no length is asked for; an answer is an artifact, and without those its words stay away too. */
function toPageTask({
  task,
  params: { historyLength = 0, includeArtifacts = false },
  pollAfterMs,
}: {
  task: ExecutionTask;
  params: Params;
  pollAfterMs: number;
}): A2aTask {
  const view = toA2aTask({ task, historyLength, pollAfterMs });
  if (includeArtifacts) return view;
  const { artifacts: _artifacts, status, ...others } = view;
  const { message, ...bare } = status;
  return { ...others, status: message === undefined || task.state === "completed" ? bare : { ...bare, message } };
}

/** Read at once, in which time nobody else gets a turn where the store is in this process. */
const limit = 20;

/** `cursor` is where the store's page begins that the task is of. Throws `invalid_params` for a cursor that is none. */
async function* newestTasks({
  tasks,
  principal,
  after,
}: {
  tasks: Pick<Tasks, "list">;
  principal: string;
  after: Pick<PageToken, "cursor" | "lastAtMs" | "lastId"> | undefined;
}): AsyncGenerator<{ task: ExecutionTask; cursor: string | undefined }> {
  let cursor = after?.cursor;
  do {
    const page = await tasks.list({ principal, cursor, limit }).catch(refuseForeignCursor);
    for (const task of page.items) if (after === undefined || isOlder({ task, than: after })) yield { task, cursor };
    cursor = page.cursor;
    if (cursor !== undefined) await setImmediate();
  } while (cursor !== undefined);
}

/** In the order of the index: those of one moment by their ids, the greatest first. */
function isOlder({ task, than }: { task: ExecutionTask; than: Pick<PageToken, "lastAtMs" | "lastId"> }): boolean {
  const { listedAtMs = 0, id } = task;
  return listedAtMs < than.lastAtMs || (listedAtMs === than.lastAtMs && id < than.lastId);
}

function refuseForeignCursor(thrown: unknown): never {
  const cause = thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown;
  throw cause instanceof RangeError ? foreignPageToken() : thrown;
}

/** After the task `lastId` of the store's page that begins at `cursor`; `total` as it was counted for the first page. */
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

/** Throws `invalid_params` for what is none. */
function decodePageToken(text: string): PageToken {
  const token = tokenSchema.safeParse(parse(Buffer.from(text, "base64url").toString())).data;
  if (token === undefined) throw foreignPageToken();
  return token;
}

function foreignPageToken(): Error {
  return createParamsError([{ path: ["pageToken"], message: "not a token of this listing" }]);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
