/** Names the subject of an operation so that no refactor changes it: the messages of a story are #1, #2 and so on. */
import type { TaskItem } from "@sekisho/runtime/engine/ports.ts";

export type Names = {
  /** The request id of a message, its `ts`, or the id of its task at a host. */
  add(id: string, name: string): void;
  of(id: string | undefined): string;
};

export function createNames(): Names {
  const names = new Map<string, string>();
  return {
    add: (id, name) => void names.set(id, name),
    of: (id) => (id === undefined ? "nothing" : (names.get(id) ?? "another")),
  };
}

/** Such as `task #2 received with lease`, `thread of #1: #1 begun, #2`, `history of #1` or `#1 working with lease` (at a host). */
export function recordName({
  names,
  id,
  item,
}: {
  names: Names;
  id: string;
  item: TaskItem | undefined;
}): string {
  if (id === "zone-secret") return "the zone's secret";
  if (id.startsWith("refusals:")) return "refusals that were told";
  const [, kind, ofWhat] = /^(thread|history):(.*)$/.exec(id) ?? [];
  const state = item === undefined ? "absent" : `${item.state}${isHeld(item) ? " with lease" : ""}`;
  if (kind === "thread")
    return `thread of ${names.of(ofWhat?.split("/").at(-1))}: ${queueIn({ names, item })}`;
  if (kind === "history") return `history of ${names.of(ofWhat)}`;
  const requestId = item !== undefined && "correlationId" in item ? String(item.correlationId) : id;
  return `task ${names.of(requestId)} ${state}`;
}

function isHeld(item: TaskItem): boolean {
  return "lease" in item && item.lease !== undefined;
}

function queueIn({ names, item }: { names: Names; item: TaskItem | undefined }): string {
  if (item === undefined || !("tasks" in item)) return "absent";
  const tasks = item.tasks as readonly { id: string; begun: boolean }[];
  return (
    tasks.map(({ id, begun }) => `${names.of(id)}${begun ? " begun" : ""}`).join(", ") || "nobody"
  );
}

/** Such as `wake 2 of #1`: the kind of a queue's message and its link, never its text. */
export function queuedName({ names, body }: { names: Names; body: string }): string {
  const { vote, ...message } = JSON.parse(body) as Partial<Record<string, string>> & {
    vote?: { taskId: string };
  };
  if (vote !== undefined) return `vote of ${names.of(vote.taskId)}`;
  const { type, seq, requestId, taskId, task_id } = message;
  return `${type ?? "task"} ${seq === undefined ? "" : `${seq} `}of ${names.of(requestId ?? taskId ?? task_id)}`;
}
