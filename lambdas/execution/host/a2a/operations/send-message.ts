/** `SendMessage`: the task when its turn is over or the sync budget is, or the answer that needs no task. */
import { isAsking } from "../../changes.ts";
import type { Tasks } from "../../tasks.ts";
import { answerDirectly } from "../answer-directly.ts";
import type { Operation } from "../operation.ts";
import type { ReceiveMessage } from "../receive-message.ts";
import { viewOf } from "../view.ts";

export function sendMessage({
  tasks,
  receive,
  syncBudgetMs,
  pollAfterMs,
}: {
  tasks: Tasks;
  receive: ReceiveMessage;
  syncBudgetMs: number;
  pollAfterMs: number;
}): Operation<"SendMessage"> {
  return async (call) => {
    const { historyLength, returnImmediately = false } = call.params.configuration ?? {};
    const task = await receive(call);
    const timeoutMs = returnImmediately ? 0 : syncBudgetMs;
    // What was taken is never refused: where it cannot be watched, the client asks again.
    const latest = await tasks.wait({ task, until: isAsking, timeoutMs }).catch(() => task);
    const message = await answerDirectly({ tasks, task: latest });
    return message ? { message } : { task: viewOf({ task: latest, historyLength, pollAfterMs }) };
  };
}
