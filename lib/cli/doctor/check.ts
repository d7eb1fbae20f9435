/** A check and its finding, and the function that runs all checks at once. */

import { abortable } from "../../../lambdas/shared/async/waiting.ts";
import { sekisho } from "../../../lambdas/shared/command-line.ts";
import { ConfigError } from "../../../lambdas/shared/config/config-error.ts";
import { EngineFileError } from "../../../lambdas/shared/engine/sqlite/file-error.ts";
import { errorKind } from "../../../lambdas/shared/telemetry/error-kind.ts";
import { AwsFailure } from "../aws/aws-failure.ts";

/** `skipped`: the check does not apply, or it needs something that is missing and that another check reports. */
export type CheckStatus = "ok" | "warning" | "failed" | "skipped";

/** Texts for a person. They hold no secrets and no text of other systems. A problem always comes with a remedy. */
export type Finding =
  | { status: "ok" | "skipped"; what: string }
  | { status: "warning" | "failed"; what: string; remedy: string };

export type Found = Finding & { group: string; name: string };

export type Check = {
  name: string;
  /** Overrides the time limit of the run. */
  timeoutMs?: number;
  /** May reject, which fails this check alone. */
  run(signal: AbortSignal): Promise<Finding>;
};

export type CheckGroup = { group: string; checks: Check[] };

export function ok(what: string): Finding {
  return { status: "ok", what };
}

export function skipped(what: string): Finding {
  return { status: "skipped", what };
}

export function warning(what: string, remedy: string): Finding {
  return { status: "warning", what, remedy };
}

export function failed(what: string, remedy: string): Finding {
  return { status: "failed", what, remedy };
}

/** Splits a text into the problem and the remedy. `remedy` is used if the text has no remedy. */
export function failedAs(text: string, remedy: string): Finding {
  const [, what = text, said = remedy] =
    /^(.+?(?:[.?](?= [A-Z])|[.?;](?= npx ))) (.+)$/s.exec(text.trim()) ?? [];
  return failed(what.replace(/;$/, "."), said);
}

/** Ends a check early with a finding, from wherever the check finds it. */
export class CheckEnded extends Error {
  override name = "CheckEnded";
  readonly finding: Finding;

  constructor(finding: Finding) {
    super(finding.what);
    this.finding = finding;
  }
}

type CheckRow<T> = Omit<Check, "run"> & {
  needs: () => Promise<T>;
  check: (needed: T, signal: AbortSignal) => Finding | Promise<Finding>;
};

/** One row of a table of checks. `check` gets what `needs` resolves to. */
export function row<T>({ needs, check, ...rest }: CheckRow<T>): Check {
  return { ...rest, run: async (signal) => check(await needs(), signal) };
}

/** Makes `work` a need: a check whose need fails is skipped, because another check reports the failure. */
export function need<T>(work: () => Promise<T>, skippedText: string): () => Promise<T> {
  return () =>
    work().catch(() => {
      throw new CheckEnded(skipped(skippedText));
    });
}

/** Runs `work` for the first caller and gives its outcome to all, so that checks can share one request. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let outcome: Promise<T> | undefined;
  return () => {
    outcome ??= work();
    return outcome;
  };
}

type ChecksRun = { groups: readonly CheckGroup[]; signal: AbortSignal; timeoutMs?: number };

/** Runs all checks at once and returns their findings in order. Never rejects. An aborted `signal` ends the checks. */
export function runChecks({ groups, signal, timeoutMs = 30_000 }: ChecksRun): Promise<Found[]> {
  const all = groups.flatMap(({ group, checks }) => checks.map((check) => ({ group, check })));
  return Promise.all(
    all.map(async ({ group, check }) => {
      return { group, name: check.name, ...(await runCheck({ timeoutMs, ...check }, signal)) };
    }),
  );
}

async function runCheck(
  { run, timeoutMs }: Check & { timeoutMs: number },
  signal: AbortSignal,
): Promise<Finding> {
  const timer = AbortSignal.timeout(timeoutMs);
  const limit = AbortSignal.any([signal, timer]);
  try {
    // Without this, a check that ignores its signal would hold up the report.
    return await abortable({ promise: run(limit), signal: limit });
  } catch (thrown) {
    if (signal.aborted) return failed("It was interrupted.", "Run the command again.");
    if (timer.aborted) {
      const remedy =
        "Run the command again. If it happens again, look at the network and at the system that is checked.";
      return failed(`It did not finish within ${timeoutMs / 1000} s.`, remedy);
    }
    return explain(thrown);
  }
}

/** Shows only messages that were written for a person. Any other message may hold a secret. */
function explain(thrown: unknown): Finding {
  if (thrown instanceof CheckEnded) return thrown.finding;
  if (thrown instanceof ConfigError) {
    return failed(
      thrown.message.replaceAll(/\n\s*- /g, " "),
      `${sekisho} config check lists every problem.`,
    );
  }
  if (thrown instanceof AwsFailure) {
    return failedAs(
      thrown.message,
      "Try again. If it fails again, look up the error's name in the AWS documentation.",
    );
  }
  if (thrown instanceof EngineFileError) return failedAs(thrown.message, "Look at the file.");
  return failed(
    `The check itself failed (${errorKind(thrown)}).`,
    "This is a defect. Please report it.",
  );
}
