/** A row of the table of checks, its finding, and the function that runs the rows at once. */

import { ConfigError } from "@sekisho/config/config-error.ts";
import { AskerKeyError } from "@sekisho/local/asker-keys.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import { sekisho } from "@sekisho/runtime/command-line.ts";
import { EngineFileError } from "@sekisho/runtime/engine/sqlite/file-error.ts";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import { AwsFailure } from "../aws/aws-failure.ts";

/** `skipped`: the check does not apply, or it needs something that is missing and that another check reports. */
export type CheckStatus = "ok" | "warning" | "failed" | "skipped";

/** Texts for a person. They hold no secrets and no text of other systems. Without `remedy` the advice of the row is shown. */
export type Finding = { status: CheckStatus; what: string; remedy?: string | undefined };

export type Found = Pick<Finding, "status" | "what"> & {
  group: string;
  name: string;
  /** Null where there is nothing to do. */
  remedy: string | null;
};

/** `Targets` maps each place where checks run to what they get there. A row runs if its place is given. */
export type Row<Targets, Where extends keyof Targets = keyof Targets> = {
  [Place in Where]: {
    /** A function returns one name per check, such as each destination. */
    name: string | ((target: Targets[Place]) => readonly string[]);
    where: Place;
    /** May reject, which fails this check alone. */
    run(target: Targets[Place], name: string): Finding | Promise<Finding>;
    /** What to do about a problem, unless its finding says it better. */
    advice: string | ((target: Targets[Place]) => string);
  };
}[Where];

export type Table<Targets> = readonly { group: string; checks: readonly Row<Targets>[] }[];

export const ok = (what: string): Finding => ({ status: "ok", what });
export const skip = (what: string): Finding => ({ status: "skipped", what });

export function warning(what: string, remedy?: string): Finding {
  return { status: "warning", what, remedy };
}

export function failure(what: string, remedy?: string): Finding {
  return { status: "failed", what, remedy };
}

/** Splits a text into the problem and the remedy. */
export function parseFailure(text: string): Finding {
  const [, what = text, remedy] =
    /^(.+?(?:[.?](?= [A-Z])|[.?;](?= npx ))) (.+)$/s.exec(text.trim()) ?? [];
  return failure(what.replace(/;$/, "."), remedy);
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

/** Skips the check if `needed` rejects, because another check reports that failure. */
export function need<T>(neededWork: Promise<T>, skippedText: string): Promise<T> {
  return neededWork.catch(() => {
    throw new CheckEnded(skip(skippedText));
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

type Run<Targets> = {
  table: Table<Targets>;
  targets: Partial<Targets>;
  /** Runs only these checks. */
  only?: { group: string; name: string } | undefined;
  /** For each check. */
  timeoutMs?: number;
  signal: AbortSignal;
};

/** Runs all checks at once and returns their findings in order. Never rejects. An aborted `signal` ends the checks. */
export async function runChecks<Targets>(run: Run<Targets>): Promise<Found[]> {
  const { table, targets, only, timeoutMs = 30_000, signal } = run;
  const checks = table.flatMap(({ group, checks: rows }) =>
    rows.flatMap((row) => checksOf(row, targets).map((check) => ({ group, ...check }))),
  );
  const wantedChecks = checks.filter(
    ({ group, name }) => only === undefined || (group === only.group && name === only.name),
  );
  return Promise.all(
    wantedChecks.map(async ({ group, name, begin, advice }) => {
      const { status, what, remedy } = await finish({ begin, timeoutMs, signal });
      const hasProblem = status === "warning" || status === "failed";
      return { group, name, status, what, remedy: hasProblem ? (remedy ?? advice) : null };
    }),
  );
}

function checksOf<Targets, Where extends keyof Targets>(
  row: Row<Targets, Where>,
  targets: Partial<Targets>,
) {
  const target = targets[row.where];
  if (target === undefined) return [];
  const { name: names, advice } = row;
  return (typeof names === "string" ? [names] : names(target)).map((name) => ({
    name,
    begin: async () => row.run(target, name),
    advice: typeof advice === "string" ? advice : advice(target),
  }));
}

type Begun = { begin: () => Promise<Finding>; timeoutMs: number; signal: AbortSignal };

async function finish({ begin, timeoutMs, signal }: Begun): Promise<Finding> {
  const timer = AbortSignal.timeout(timeoutMs);
  try {
    // Without this, a check that ignores its signal would hold up the report.
    return await abortable({ promise: begin(), signal: AbortSignal.any([signal, timer]) });
  } catch (error) {
    if (signal.aborted) return failure("It was interrupted.", "Run the command again.");
    if (timer.aborted) return failure(`It did not finish within ${timeoutMs / 1000} s.`);
    return explain(error);
  }
}

/** Shows only messages that were written for a person. Any other message may hold a secret. */
function explain(error: unknown): Finding {
  if (error instanceof CheckEnded) return error.finding;
  if (error instanceof ConfigError) {
    const problems = error.message.replaceAll(/\n\s*- /g, " ");
    return failure(problems, `${sekisho} config check lists every problem.`);
  }
  const forPeople = [AwsFailure, EngineFileError, AskerKeyError];
  if (error instanceof Error && forPeople.some((kind) => error instanceof kind))
    return parseFailure(error.message);
  const what = `The check itself failed (${errorKind(error)}).`;
  return failure(what, "This is a defect. Please report it.");
}
