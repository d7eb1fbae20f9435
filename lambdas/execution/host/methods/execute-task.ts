/** `execute_task`: the result within the sync budget, or `accepted` and the work goes on. */
import { SekishoError } from "../../../../contracts/errors.ts";
import { newTrace } from "../../../shared/trace.ts";
import { isAsking } from "../changes.ts";
import type { Method } from "../method.ts";
import { fingerprintOf, taskIdOf } from "../task-id.ts";
import { taskResult } from "../task-result.ts";
import type { Tasks } from "../tasks.ts";

/** A host that stops takes nothing new: `unavailable`, and the same id may be sent to the next one. */
export function executeTask({
  tasks,
  syncBudgetMs,
  pollAfterMs,
  isStopping,
}: {
  tasks: Tasks;
  syncBudgetMs: number;
  pollAfterMs: number;
  isStopping: () => boolean;
}): Method<"execute_task"> {
  return async ({ params, id, caller: { principal, trace, receivedAtMs } }) => {
    if (isStopping()) throw new SekishoError("unavailable");
    const { bot_token: botToken, ...input } = params;
    const task = await tasks.submit({
      principal,
      taskId: taskIdOf({ principal, requestId: id }),
      requestId: id,
      fingerprint: fingerprintOf(params),
      input,
      botToken,
      trace: trace ?? newTrace(),
      receivedAtMs,
    });
    // What was taken is never refused: where it cannot be watched, the caller polls.
    const latest = await tasks.wait({ task, until: isAsking, timeoutMs: syncBudgetMs }).catch(() => task);
    return taskResult({ task: latest, pollAfterMs });
  };
}
