/** What every command of the command line is. */

export type CommandRun = {
  /** What stands behind the command's name. */
  words: string[];
  /** Where the configuration is looked for and `.sekisho/` is made. */
  directory: string;
  /** Aborts on SIGINT and SIGTERM. */
  signal: AbortSignal;
  /** A line of the command's output (stdout). */
  print(text: string): void;
  /** A line beside the output: progress, explanations (stderr). */
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

/** Waits until the person wants to end, then ends; says so where it takes its time. */
export async function untilStopped({ signal, note }: CommandRun, close: () => Promise<void>): Promise<void> {
  await aborted(signal);
  const text = "Stopping; what is under way gets a few seconds. Ctrl-C again ends at once.";
  const timer = setTimeout(() => note(text), 700);
  try {
    await close();
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
