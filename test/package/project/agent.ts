import { defineAgent } from "@sekisho/sekisho/agent";

export const agent = defineAgent(async function* (task, { signal }) {
  signal.throwIfAborted();
  yield { type: "progress", text: "Reading", percent: 10 };
  yield { type: "answer", text: `You wrote: ${task.text}` };
});
