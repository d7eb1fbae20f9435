/** A stage's dead letters that were kept, as far as they are of one person. */

import type { QueueMessage } from "../../../lambdas/verification/task/messages.ts";
import { readLetter, withDeadLetters } from "../aws/dead-letters/archive.ts";
import type { DataPart, Person } from "./person.ts";

export function createArchivedLettersPart({
  person,
  ...archive
}: {
  person: Person;
  queueUrl: string;
  region: string;
  signal: AbortSignal;
}): DataPart {
  async function each(ids: ReadonlySet<string>, isErased: boolean): Promise<number> {
    let sum = 0;
    await withDeadLetters(archive, async (letters, remove) => {
      for (const letter of letters) {
        const { message } = readLetter(letter);
        if (message === undefined || !isOf({ message, person, ids })) continue;
        if (isErased) await remove(letter);
        sum += 1;
      }
    });
    return sum;
  }
  return {
    what: "dead letters kept",
    count: ({ ids }) => each(ids, false),
    erase: ({ ids }) => each(ids, true),
  };
}

function isOf({ message, person, ids }: { message: QueueMessage; person: Person; ids: ReadonlySet<string> }): boolean {
  if (message.type === "ask") return isPerson(message.message, person);
  if (message.type === "button_click" || message.type === "conversation_opened") return isPerson(message, person);
  return ids.has(message.requestId);
}

function isPerson({ team, user }: Person, person: Person): boolean {
  return team === person.team && user === person.user;
}
