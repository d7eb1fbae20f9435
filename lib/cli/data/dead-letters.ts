/** A stage's archived dead letters of one person. */
import { isInteraction, type QueueMessage } from "../../../lambdas/verification/task/messages.ts";
import { parseDeadLetter, withDeadLetters } from "../aws/dead-letters/archive.ts";
import type { DataPart, Person } from "./person.ts";

type ArchiveOfPerson = { person: Person; queueUrl: string; region: string; signal: AbortSignal };

export function createDeadLetters({ person, ...archive }: ArchiveOfPerson): DataPart {
  return async ({ ids, erase }) => {
    let sum = 0;
    await withDeadLetters(archive, async (deadLetters, remove) => {
      for (const deadLetter of deadLetters) {
        const { message } = parseDeadLetter(deadLetter);
        if (message === undefined || !isOf({ message, person, ids })) continue;
        if (erase) await remove(deadLetter);
        sum += 1;
      }
    });
    return sum;
  };
}

function isOf({
  message,
  person,
  ids,
}: {
  message: QueueMessage;
  person: Person;
  ids: ReadonlySet<string>;
}): boolean {
  const isPerson = ({ team, user }: Person) => team === person.team && user === person.user;
  if (message.type === "ask" || message.type === "message_change") return isPerson(message.message);
  if (isInteraction(message)) return isPerson(message);
  return ids.has(message.requestId);
}
