/** The agent of a load run. It reports its start and end to the parent, and holds a task unless it is quick. */
import { setTimeout as wait } from "node:timers/promises";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { answerTo } from "../asker.ts";
import { createHold, type Hold } from "./hold.ts";
import { tell } from "./parent.ts";

let hold: Hold | undefined;

/** Must be called once, before the first task. */
export function holdTasks(request: { atOnce: number; quietMs: number }): void {
  hold = createHold(request);
}

export const agent: Agent = async function* load({ text }, { requestId, signal }) {
  tell({ type: "started", requestId });
  if (text.endsWith("quick")) await wait(1);
  else await hold?.enter({ signal });
  tell({ type: "ended", requestId });
  yield { type: "answer", text: answerTo(text) };
};
