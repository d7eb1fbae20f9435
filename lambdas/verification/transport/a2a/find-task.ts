/** Finds the task of which only the message is known: A2A has no such look-up, but it lists the tasks of a context. */
import { SekishoError } from "../../../../contracts/errors.ts";
import type { Ask } from "./ask.ts";
import type { Passed, PeerCall } from "./post-operation.ts";

/** The one that is looked for is of the latest, which come first (A2A 1.0, section 3.1.4). */
const maxPages = 3;
const pageSize = 20;
/** A task's first message is the oldest of its history. */
const historyLength = 20;

/**
 * Rejects with `unsupported_operation` where it is not among them: that says nothing of whether the message arrived, since an
 * agent need not list a task at once, nor keep its history, nor make a task of every message. So it must never read as
 * `task_not_found`, by which a task is taken to be nowhere.
 */
export async function findTask({
  messageId,
  ask,
  call,
}: {
  messageId: string;
  ask: Ask;
  call: PeerCall;
}): Promise<{ taskId: string } | Passed> {
  let pageToken: string | undefined;
  for (let page = 0; page < maxPages; page += 1) {
    const params = { contextId: call.sessionId, pageSize, pageToken, historyLength };
    const asked = await ask({ operation: "ListTasks", params, call }).catch(notTheTasksSize);
    if ("passed" in asked) return asked;
    const { tasks, nextPageToken } = asked.result;
    const found = tasks.find((task) => task.history.some((message) => message.messageId === messageId));
    if (found !== undefined) return { taskId: found.id };
    if (nextPageToken === undefined) break;
    pageToken = nextPageToken;
  }
  throw new SekishoError("unsupported_operation");
}

/** A listing that is too large is no word about the task itself. */
function notTheTasksSize(thrown: unknown): never {
  if (thrown instanceof SekishoError && thrown.reason === "payload_too_large") {
    throw new SekishoError("unsupported_operation", { cause: thrown });
  }
  throw thrown;
}
