/** Cleaning up: the `finally` of an agent after its last update. It decides nothing about the task. */
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { runAsAgent } from "./uncaught-errors.ts";

/** How long an agent may clean up before its run counts as over. */
const cleanUpMs = 5000;

/** Ends the agent's generator, so that its `finally` runs. Never rejects. */
export async function cleanUp({
  updates,
  log,
}: {
  updates: AsyncGenerator<unknown>;
  log: Log;
}): Promise<void> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(new CleanUpTimeout()), cleanUpMs);
  try {
    await abortable({
      promise: runAsAgent(log, () => updates.return(undefined)),
      signal: timeout.signal,
    });
  } catch (error) {
    log.warn("agent_cleanup_failed", { cause_kind: errorKind(error) });
  } finally {
    clearTimeout(timer);
  }
}

/** The agent was still cleaning up after `cleanUpMs`. */
class CleanUpTimeout extends Error {
  override name = "CleanUpTimeout";
}
