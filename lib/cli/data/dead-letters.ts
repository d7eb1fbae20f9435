/** A stage's archived dead letters of one person. */
import type { QueueMessage } from "../../../lambdas/verification/task/messages.ts";
import { readLetter, withDeadLetters } from "../aws/dead-letters/archive.ts";
import type { DataPart, Person } from "./person.ts";

export function createDeadLetters({
  person,
  ...archive
}: {
  person: Person;
  queueUrl: string;
  region: string;
  signal: AbortSignal;
}): DataPart {
  return async ({ ids, erase }) => {
    let sum = 0;
    await withDeadLetters(archive, async (letters, remove) => {
      for (const letter of letters) {
        const { message } = readLetter(letter);
        if (message === undefined || !isOf({ message, person, ids })) continue;
        if (erase) await remove(letter);
        sum += 1;
      }
    });
    return sum;
  };
}

function isOf({ message, person, ids }: { message: QueueMessage; person: Person; ids: ReadonlySet<string> }): boolean {
  const isPerson = ({ team, user }: Person) => team === person.team && user === person.user;
  if (message.type === "ask") return isPerson(message.message);
  if (message.type === "button_click" || message.type === "conversation_opened") return isPerson(message);
  return ids.has(message.requestId);
}
