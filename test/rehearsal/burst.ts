/** More messages at once than a new account may run invocations. */
import { newAccountLimit } from "./lambda/concurrency.ts";
import { queueArnOf, quiet } from "./stage.ts";
import { answer } from "./stories.ts";
import { verificationPlace } from "./synthesized.ts";
import type { World } from "./world.ts";

const messages = 12;

export type Burst = {
  /** Answers in the thread of each message. */
  answers: number[];
  /** How many of the messages became dead letters. */
  deadLetters: number;
  /** The most invocations of the Verification account that were under way at once. */
  peak: number;
};

/** All at once. The events that find no concurrency get an error, and Slack delivers them again. */
export async function isBurst(world: World): Promise<Burst> {
  if (messages <= newAccountLimit) throw new Error("So few messages are no burst.");
  // Where all start anew, no event is over before the last one has come.
  await Promise.all(
    [...world.functions.values()].filter(({ fn }) => fn.label.includes("/Ingress")).map((fn) => fn.cool()),
  );
  const asked = Array.from({ length: messages }, (_, index) => world.ask({ text: `burst ${index + 1}.` }));
  for (const [index, { message }] of asked.entries()) await answer(world, message, new RegExp(`burst ${index + 1}\\.`));
  await quiet(world);
  const archived = await world.queues.peek(queueArnOf(world, "deadLettersUrl"));
  return {
    answers: asked.map(({ message }) => world.answersTo(message).length),
    deadLetters: asked.filter(({ requestId }) => archived.some((body) => body.includes(requestId))).length,
    peak: world.concurrency.peak(verificationPlace.account),
  };
}
