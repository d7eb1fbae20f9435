/** `SendStreamingMessage`: the task and then what changes, until its turn is over; or one message, the answer without a task. */
import type { Message } from "../../../../../contracts/a2a/part.ts";
import type { StreamEvent } from "../../../../../contracts/a2a/task.ts";
import { isAsking } from "../../changes.ts";
import type { ExecutionTask } from "../../execution-task.ts";
import type { Tasks } from "../../tasks.ts";
import { answerDirectly } from "../answer-directly.ts";
import { follow } from "../follow.ts";
import type { Operation } from "../operation.ts";
import type { ReceiveMessage } from "../receive-message.ts";
import { viewOf } from "../view.ts";

/** Whether the answer needs no task shows within `firstSignMs`, or the task is shown: whichever sign the agent gives first. */
export function sendStreamingMessage({
  tasks,
  receive,
  firstSignMs,
  pollAfterMs,
}: {
  tasks: Tasks;
  receive: ReceiveMessage;
  firstSignMs: number;
  pollAfterMs: number;
}): Operation<"SendStreamingMessage"> {
  return async (call) => {
    const historyLength = call.params.configuration?.historyLength;
    const shown = await receive(call);
    const until = (seen: ExecutionTask) => isAsking(seen) || hasNews({ seen, shown });
    const task = await tasks.wait({ task: shown, until, timeoutMs: firstSignMs }).catch(() => shown);
    const message = await answerDirectly({ tasks, task });
    if (message) return only(message);
    const view = (seen: ExecutionTask) => viewOf({ task: seen, historyLength, pollAfterMs });
    return follow({ tasks, shown, task, view, signal: call.client.signal });
  };
}

function hasNews({ seen, shown }: { seen: ExecutionTask; shown: ExecutionTask }): boolean {
  return seen.progress !== shown.progress || seen.artifacts !== shown.artifacts;
}

async function* only(message: Message): AsyncGenerator<StreamEvent> {
  yield { message };
}
