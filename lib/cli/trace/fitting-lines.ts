/** Which log lines are of a task, by the ids that are known of it and those that its lines tell of. */
import type { LogLine } from "./log-line.ts";

type Ids = { requestId: string; taskId: string | undefined; traceId: string | undefined };

/** In order of time, each once. A line that names another request is of another task, whatever trace both are of. */
export function selectLines({ all, requestId, ...known }: Ids & { all: readonly LogLine[] }): Omit<Ids, "requestId"> & {
  lines: LogLine[];
} {
  const own = all.filter(({ fields }) => requestOf(fields) === requestId);
  const taskId = known.taskId ?? firstOf(own, "task_id");
  const traceId = known.traceId ?? firstOf(own, "trace_id");
  const fits = ({ fields }: LogLine) =>
    requestOf(fields) === undefined
      ? (taskId !== undefined && fields.task_id === taskId) || (traceId !== undefined && fields.trace_id === traceId)
      : requestOf(fields) === requestId;
  // A line that comes in two files, or twice in one, is one line.
  const once = new Map(all.filter(fits).map((line) => [JSON.stringify(line), line]));
  return { lines: [...once.values()].sort((a, b) => a.atMs - b.atMs), taskId, traceId };
}

/** The request ids of the lines that speak of an id: a request id or its beginning, a task id, a trace id. */
export function findRequestIds({ lines, id }: { lines: readonly LogLine[]; id: string }): string[] {
  const found = lines.flatMap(({ fields }) => {
    const requestId = requestOf(fields);
    if (requestId === undefined) return [];
    const isMeant = requestId.startsWith(id.toLowerCase()) || fields.task_id === id || fields.trace_id === id;
    return isMeant ? [requestId] : [];
  });
  return [...new Set(found)];
}

function requestOf({ request_id: id }: LogLine["fields"]): string | undefined {
  return id === undefined ? undefined : String(id).toLowerCase();
}

function firstOf(lines: readonly LogLine[], name: "task_id" | "trace_id"): string | undefined {
  const id = lines.find(({ fields }) => fields[name] !== undefined)?.fields[name];
  return id === undefined ? undefined : String(id);
}
