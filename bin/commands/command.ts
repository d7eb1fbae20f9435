/** The type of a command of the command line. */
import { formatSecretName, hasSecret, shortTokenProblems } from "../../lambdas/shared/config/secrets.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";

export type CommandRun = {
  /** What stands behind the command's name. */
  words: string[];
  /** Where the configuration is looked for and `.sekisho/` is made. */
  directory: string;
  /** Aborts on SIGINT and SIGTERM. */
  signal: AbortSignal;
  /** A line of the command's output (stdout). Characters that a terminal would act upon are escaped as JSON escapes them. */
  print(text: string): void;
  /** The same with colours of ours. All else in it must have gone through `sanitizeLine` or `sanitizeLines`. */
  printStyled(text: string): void;
  /** A line beside the output: progress, explanations (stderr). Escaped like the output. */
  note(text: string): void;
};

export type Command = {
  help: string;
  /** Resolves to the exit code. */
  run(run: CommandRun): Promise<number>;
};

export const exitCodes = { success: 0, failed: 1, badUsage: 2, notReachable: 3, interrupted: 130 } as const;

/** The words do not fit the command. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/**
 * Runs `begin`, waits until the person stops the command, then closes. Closes also if `begin` throws, so that no listener
 * stays open. Says that it is stopping if that takes a while.
 */
export async function closeWhenStopped(
  { signal, note }: CommandRun,
  close: () => Promise<void>,
  begin: () => void = () => {},
): Promise<void> {
  try {
    begin();
    await waitForAbort(signal);
  } finally {
    const text = "Stopping; what is under way gets a few seconds. Ctrl-C again ends at once.";
    const timer = setTimeout(() => note(text), 700);
    await close().finally(() => clearTimeout(timer));
  }
}

/** Resolves when the signal aborts. */
export function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

// Secrets that a command cannot do without: better refused at the start than at the first task.

/** Throws a UsageError that names the first environment variable that is not set. */
export function requireSecrets(references: readonly SecretReference[]): void {
  const missing = references.find((reference) => !hasSecret(reference));
  if (missing !== undefined) throw new UsageError(`The environment variable ${formatSecretName(missing)} is not set.`);
}

/** The same for tokens that let callers in, which must be long enough as well. */
export function requireTokens(references: readonly SecretReference[]): void {
  requireSecrets(references);
  const [problem] = shortTokenProblems({ references });
  if (problem !== undefined) throw new UsageError(problem);
}
