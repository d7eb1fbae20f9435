/** Stories of routes that change while tasks are under way. */

import type { PostedByFakePerson } from "@sekisho/local/fake-slack/persons.ts";
import { openDynamoDb } from "@sekisho/runtime/engine/aws/client.ts";
import { emulatedAws } from "../../../doubles/aws/emulators.ts";
import { pushSettings } from "../../../doubles/aws/pushed-settings.ts";
import { startWorkersAnew, verificationOutput } from "../stage.ts";
import type { World } from "../world.ts";
import { answer, logged } from "./messages.ts";

/**
 * Routes all tasks to the first of `destinations` that can be reached, as `config push` does. The workers start anew, because a
 * warm one reads the routes only every half minute.
 */
export async function changeRoutes(world: World, ...destinations: string[]): Promise<void> {
  const client = openDynamoDb({ ...emulatedAws(world.tablesUrl), region: "us-east-1" });
  const settings = JSON.stringify({ routes: [{ destination: destinations }] });
  await pushSettings({ client, table: verificationOutput(world, "tableName"), settings });
  await startWorkersAnew(world);
}

export type Moved = Record<"before" | "meanwhile" | "after", PostedByFakePerson[]>;

/** Asks for tasks before, while and after the routes change, and waits for all answers. */
export async function moveTasks(world: World, destination: string): Promise<Moved> {
  const ask = (text: string) => [1, 2].map((number) => world.ask({ text: `${text} ${number}` }));
  const before = ask("slow 5s, before");
  await Promise.all(
    before.map(({ requestId }) =>
      world.until("acceptance", () =>
        logged(world, {
          request_id: requestId,
          message: "call_answered",
          operation: "execute_task",
        }).at(0),
      ),
    ),
  );
  const meanwhile = ask("meanwhile");
  await changeRoutes(world, destination);
  if (
    before.some(({ message }) => world.answersTo(message).some(({ text }) => /before/.test(text)))
  )
    throw new Error("The tasks that were to be under way were over before the routes changed.");
  const after = ask("after");
  const moved = { before, meanwhile, after };
  for (const [word, post] of Object.entries(moved))
    for (const { message } of post) await answer(world, message, new RegExp(`${word} \\d`));
  return moved;
}
