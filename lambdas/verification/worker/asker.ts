/** Who is behind a call, for destinations that are told. docs/explanation/security.md has the rules. */
import type { CallAsker } from "@sekisho/runtime/asker/asker.ts";
import type { WorkerDestination } from "../destinations.ts";
import type { FindEmail } from "../lookups/person-email.ts";
import { type GivenAnswer, installationOf, type Task, threadRefOf } from "../task/task.ts";

/**
 * Returns the person who wrote the message, or who gave the `answer` that the call brings. Undefined if the destination is not told, and if
 * a bot or a workflow wrote it: its user id looks like a person's, so a token with it would say that a person asked. Bots answer no questions.
 */
export async function findAsker(request: {
  destination: Pick<WorkerDestination, "asker">;
  task: Task;
  answer?: Pick<GivenAnswer, "user"> | undefined;
  isOwnWord: boolean;
  findEmail: FindEmail | undefined;
  signal: AbortSignal;
}): Promise<CallAsker | undefined> {
  const { destination, task, answer, isOwnWord, findEmail, signal } = request;
  const { asker } = destination;
  const user = answer?.user ?? readWriter(task);
  if (asker === undefined || user === undefined) return undefined;
  const { team, enterprise } = installationOf(task);
  const { channel, threadTs: thread } = threadRefOf(task);
  const email = asker.getsEmail ? await findEmail?.({ task, user, signal }) : undefined;
  return {
    person: { team, enterprise, user, channel, thread, ...(email !== undefined && { email }) },
    requestId: task.id,
    isOwnWord,
  };
}

function readWriter({ message: { user, botIds } }: Task): string | undefined {
  return botIds === undefined ? user : undefined;
}
