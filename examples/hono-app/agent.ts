/** The agent: replace this with your own code. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Agent } from "@sekisho/execution/agent";

/** A text such as "wait 5" is answered over five seconds, and "fail" fails. What an agent throws is told to nobody. */
export const agent: Agent = async function* wait({ text }, { signal }) {
  if (text.startsWith("fail")) throw new Error("nobody reads this");
  const answer = `You wrote: ${text}`;
  const seconds = Number(/^wait (\d{1,3})\b/.exec(text)?.[1] ?? 0);
  for (let second = 0; second < seconds; second += 1) {
    const partial = answer.slice(0, (answer.length * second) / seconds);
    yield { type: "progress", percent: (100 * second) / seconds, partial };
    await sleep(1000, undefined, { signal }); // Throws when the task is canceled or its time is over.
  }
  yield { type: "answer", text: answer };
};
