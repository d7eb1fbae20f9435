/** An agent of your own: an async generator of updates. Name this file in the configuration as `execution.agent`. */
import type { Agent } from "@sekisho/execution/agent";

export const agent: Agent = async function* greet(task, { signal }) {
  yield { type: "progress", text: "Counting the words" };
  signal.throwIfAborted();
  const words = task.text.split(/\s+/).filter((word) => word !== "").length;
  if (words === 0) {
    yield { type: "failure", reason: "plan_error" };
    return;
  }
  yield {
    type: "answer",
    text: `Hello! You wrote ${words === 1 ? "one word" : `${words} words`}.`,
  };
};
