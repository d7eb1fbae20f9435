/** Runs checks at the same time, each within its own time; what one of them meets is nothing to the others. */

import { abortable } from "../../../lambdas/shared/async/waiting.ts";
import { ConfigError } from "../../../lambdas/shared/config/load.ts";
import { EngineFileError } from "../../../lambdas/shared/engine/sqlite/file-error.ts";
import { errorKind } from "../../../lambdas/shared/telemetry/error-kind.ts";
import { AwsFailure } from "../aws/aws-failure.ts";
import { type Check, type CheckGroup, type Finding, failedFinding, toFailedFinding } from "./check.ts";

export type Found = Finding & { group: string; name: string };

const defaultTimeoutMs = 30_000;

/** In the order of the groups and their checks. Never rejects; an aborted `signal` ends what is under way. */
export async function runChecks({
  groups,
  signal,
  timeoutMs = defaultTimeoutMs,
}: {
  groups: readonly CheckGroup[];
  signal: AbortSignal;
  timeoutMs?: number;
}): Promise<Found[]> {
  const all = groups.flatMap(({ group, checks }) => checks.map((check) => ({ group, check })));
  return Promise.all(
    all.map(async ({ group, check }) => ({
      group,
      name: check.name,
      ...(await findingOf({ check, signal, timeoutMs: check.timeoutMs ?? timeoutMs })),
    })),
  );
}

async function findingOf({
  check,
  signal,
  timeoutMs,
}: {
  check: Check;
  signal: AbortSignal;
  timeoutMs: number;
}): Promise<Finding> {
  const timer = AbortSignal.timeout(timeoutMs);
  const limit = AbortSignal.any([signal, timer]);
  try {
    // A check that forgets its signal must not hold up the others' report.
    return await abortable({ promise: check.run({ signal: limit }), signal: limit });
  } catch (thrown) {
    if (signal.aborted) return failedFinding("It was interrupted.", "Run the command again.");
    if (timer.aborted) {
      const remedy = "Run the command again; if it stays so, look at the network, and at what is asked there.";
      return failedFinding(`It did not end within ${timeoutMs / 1000} s.`, remedy);
    }
    return explained(thrown);
  }
}

/** Only words that were written for a person are shown: any other text may hold anything. */
function explained(thrown: unknown): Finding {
  if (thrown instanceof ConfigError) {
    return failedFinding(thrown.message.replaceAll(/\n\s*- /g, " "), "npx sekisho config check lists every problem.");
  }
  if (thrown instanceof AwsFailure) {
    return toFailedFinding(thrown.message, "Try again; then look for the error's name in the documentation of AWS.");
  }
  if (thrown instanceof EngineFileError) return toFailedFinding(thrown.message, "Look at the file.");
  const kind = errorKind(thrown);
  return failedFinding(`The check itself failed (${kind}).`, "Report it: that should not be.");
}
