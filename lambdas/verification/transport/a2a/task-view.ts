/** Adds the events of a task's stream up to the task, and says whether a person would see a change. */
import { hash } from "node:crypto";
import { type ReadEvent, readEventSchema } from "@sekisho/contracts/a2a/read-event.ts";
import { hasTooManyEntries, type ReadTask } from "@sekisho/contracts/a2a/read-task.ts";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import type { TaskResult } from "@sekisho/contracts/methods.ts";
import { toZoneResult } from "./task-result.ts";

export type Outcome = TaskResult | SekishoError;
export type WatchedTask = { outcome: Outcome; size: { receivedBytes: number } };

/** The task as its stream shows it. `take` returns true if nothing more of the stream is needed. */
export function createTaskView(options: {
  taskId: string;
  wasSeen: (description: string) => boolean;
}) {
  const { taskId, wasSeen } = options;
  let firstDescription: string | undefined;
  let task: ReadTask | undefined;
  let receivedBytes = 0;
  let hasNews = false;

  function read(result: unknown): ReadTask | undefined {
    const event = hasTooManyEntries(result) ? undefined : readEventSchema.safeParse(result).data;
    return event === undefined || readTaskId(event) !== taskId
      ? undefined
      : applyEvent({ task, event });
  }

  return {
    take({ result, length }: { result: unknown; length: number }): boolean {
      receivedBytes += length;
      task = read(result);
      const description =
        task && describeProgress(toZoneResult({ result: { task }, retryAfterMs: undefined }));
      if (description === undefined) {
        task = undefined;
        return true;
      }
      // The first one alone is compared with that of the last poll, because a stream has many events.
      hasNews =
        firstDescription === undefined ? !wasSeen(description) : description !== firstDescription;
      firstDescription ??= description;
      return hasNews;
    },
    hasNews: () => hasNews,
    current(): WatchedTask | undefined {
      return (
        task && {
          outcome: toZoneResult({ result: { task }, retryAfterMs: undefined }),
          size: { receivedBytes },
        }
      );
    },
  };
}

function readTaskId(event: ReadEvent): string {
  if ("task" in event) return event.task.id;
  return "statusUpdate" in event ? event.statusUpdate.taskId : event.artifactUpdate.taskId;
}

/**
 * Returns the task after the event. Undefined without a task, because some agents of 0.3 stream changes only. Parts that are appended to an
 * unknown artifact begin it.
 */
export function applyEvent(request: {
  task: ReadTask | undefined;
  event: ReadEvent;
}): ReadTask | undefined {
  const { task, event } = request;
  if ("task" in event) return event.task;
  if (task === undefined) return undefined;
  if ("statusUpdate" in event) {
    const { status, metadata = task.metadata } = event.statusUpdate;
    return { ...task, status, metadata };
  }
  const { artifact, append } = event.artifactUpdate;
  const { artifacts = [] } = task;
  const index = artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId);
  const current = artifacts[index];
  if (current === undefined) return { ...task, artifacts: [...artifacts, artifact] };
  const { name = current.name, parts } = artifact;
  const next = append ? { ...current, name, parts: [...current.parts, ...parts] } : artifact;
  return { ...task, artifacts: artifacts.with(index, next) };
}

/** Identifies what a person sees of a task that goes on. Undefined for one that does not. */
export function describeProgress(outcome: Outcome): string | undefined {
  if (outcome instanceof SekishoError || outcome.status !== "accepted") return undefined;
  return JSON.stringify(outcome.progress ?? {});
}

/** Beyond this number, the task that was polled longest ago is forgotten. */
const maxPolled = 1000;

/** Remembers per process what the last poll of each task saw. Without it, a poll would miss what changed since the poll before it. */
export function createLastPolls() {
  const digests = new Map<string, string>();
  return {
    note({ taskId, description }: { taskId: string; description: string | undefined }): void {
      digests.delete(taskId);
      if (description !== undefined) digests.set(taskId, hash("sha256", description));
      const [oldestId] = digests.keys();
      if (oldestId !== undefined && digests.size > maxPolled) digests.delete(oldestId);
    },
    /** The check is true for what the last poll saw, and for everything if there was none. */
    createCheck(taskId: string) {
      const digest = digests.get(taskId);
      return (description: string) =>
        digest === undefined || hash("sha256", description) === digest;
    },
  };
}
