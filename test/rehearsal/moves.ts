/** Routes that change while tasks are under way, told once for all kinds. */
import type { PostedByFakePerson } from "../../lib/local/fake-slack/persons.ts";
import { consumerOf, queueArnOf, verificationOutput } from "./stage.ts";
import { answer, logged } from "./stories.ts";
import type { World } from "./world.ts";

/**
 * As `config push` does it: all goes to the first of `destinations` that can be reached. A worker that starts looks at once,
 * a warm one within half a minute; here all start anew once they have done what they are at.
 */
export async function changeRoutes(world: World, ...destinations: string[]): Promise<void> {
  const parameter = verificationOutput(world, "routesParameter");
  world.values.parameterValues.set(parameter, JSON.stringify({ routes: [{ destination: destinations }] }));
  await startAnew(world);
}

/** All instances of the worker, once they have done what they are at. */
export async function startAnew(world: World): Promise<void> {
  const { label } = consumerOf(world, queueArnOf(world, "queueUrl"));
  await Promise.all([...world.functions.values()].filter(({ fn }) => fn.label === label).map((fn) => fn.cool()));
}

export type Moved = Record<"before" | "meanwhile" | "after", PostedByFakePerson[]>;

/** Some tasks were accepted before the routes change, some are asked at that moment, some after it. All have their answer. */
export async function isMoved(world: World, destination: string): Promise<Moved> {
  const ask = (text: string) => [1, 2].map((number) => world.ask({ text: `${text} ${number}` }));
  const before = ask("slow 5s, before");
  await Promise.all(
    before.map(({ requestId }) =>
      world.until("acceptance", () =>
        logged(world, { request_id: requestId, message: "call_answered", operation: "execute_task" }).at(0),
      ),
    ),
  );
  const meanwhile = ask("meanwhile");
  await changeRoutes(world, destination);
  if (before.some(({ message }) => world.answersTo(message).some(({ text }) => /before/.test(text))))
    throw new Error("The tasks that were to be under way were over before the routes changed.");
  const after = ask("after");
  const moved = { before, meanwhile, after };
  for (const [word, asked] of Object.entries(moved))
    for (const { message } of asked) await answer(world, message, new RegExp(`${word} \\d`));
  return moved;
}
