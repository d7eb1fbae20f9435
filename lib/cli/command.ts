/** The type of a command, and `defineCommand`, which makes the help and the parser from one description. */
import { parseArgs } from "node:util";
import { formatSecretName, hasSecret, shortTokenProblems } from "@sekisho/config/secrets.ts";
import type { SecretReference } from "@sekisho/config/values.ts";

export type CommandRun = {
  /** The arguments after the command's name. */
  args: string[];
  /** The working directory, which has the configuration and `.sekisho/`. */
  directory: string;
  /** Aborts on SIGINT and SIGTERM. */
  signal: AbortSignal;
  /** Prints a line to stdout. Escapes the characters that control a terminal. */
  print(text: string): void;
  /** Prints a line of progress or explanation to stderr. Escapes like `print`. */
  note(text: string): void;
};

/** The help of a command. `docs/reference/commands.md` is made from it. */
export type CommandHelp = {
  usage: string;
  about: string;
  options: { name: string; help: string }[];
  exits: string;
};

export type Command = CommandHelp & {
  /** Resolves to the exit code. */
  run(run: CommandRun): Promise<number>;
};

export const exitCodes = {
  success: 0,
  failed: 1,
  badUsage: 2,
  notReachable: 3,
  interrupted: 130,
} as const;

/** The arguments of a command are wrong. The message is for the person who typed them. */
export class UsageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "UsageError";
  }
}

/** True if the arguments are wrong: for a UsageError, and for an error of `parseArgs`. */
export function isUsageError(error: unknown): boolean {
  if (error instanceof UsageError) return true;
  return (
    error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS")
  );
}

/** `value` is the name of the option's argument in the help. An option without it is a switch. */
type Option = {
  type: "string" | "boolean";
  value?: string;
  help: string;
  default?: string | boolean;
  multiple?: boolean;
};
type Options = Record<string, Option>;

type Parsing<O extends Options> = { args: string[]; options: O; allowPositionals: boolean };
type Parsed<O extends Options> = {
  values: ReturnType<typeof parseArgs<Parsing<O>>>["values"];
  positionals: string[];
};

export function option<const Value extends string>(value: Value, help: string) {
  return { type: "string", value, help } as const;
}

export function flag(help: string) {
  return { type: "boolean", default: false, help } as const;
}

export const configOption = option("FILE", "instead of ./sekisho.config.json");

type CommandDefinition<O extends Options> = {
  name: string;
  args?: string;
  about: string;
  options: O;
  exits?: string;
  run(run: CommandRun & Parsed<O>): Promise<number>;
};

/**
 * Makes a command from a description, so that the help always lists exactly the options that the parser accepts. `args` names
 * the positional arguments. Without it there are none.
 */
export function defineCommand<const O extends Options>(command: CommandDefinition<O>): Command {
  const { name, args, about, options, exits, run } = command;
  const rows = Object.entries(options).map(([key, { value, help }]) => ({
    name: [`--${key}`, value].filter(Boolean).join(" "),
    help,
  }));
  return {
    usage: ["sekisho", name, args, rows.length > 0 && "[options]"].filter(Boolean).join(" "),
    about: about.trim(),
    options: rows,
    exits: (exits ?? "").trim(),
    run: (commandRun) => {
      const allowPositionals = args !== undefined;
      const { values, positionals } = parseArgs<Parsing<O>>({
        args: commandRun.args,
        options,
        allowPositionals,
      });
      return run({ ...commandRun, values, positionals });
    },
  };
}

/** The help on exit codes for a command that may call AWS. `failure` names the other cases of exit code 1. */
export function awsExits(failure?: string): string {
  const one = failure === undefined ? "AWS refused" : `${failure}, or AWS refused`;
  return `Exit code: 0 success; 1 ${one}; 2 bad usage or configuration; 3 AWS not reachable.`;
}

const maxNameWidth = 22;
const helpWidth = 94;

/** The help as a terminal shows it. */
export function formatHelp({ usage, about, options, exits }: CommandHelp): string {
  return [usage, about, optionLines(options).join("\n"), exits]
    .filter((part) => part !== "")
    .join("\n\n");
}

function optionLines(options: CommandHelp["options"]): string[] {
  const rows = options.map(({ name, help }) => ({
    name: `  ${name}`,
    lines: help.match(new RegExp(`.{1,${helpWidth}}(?: |$)`, "g")) ?? [],
  }));
  const width = Math.min(maxNameWidth, Math.max(...rows.map(({ name }) => name.length)));
  return rows.flatMap(({ name, lines }) =>
    lines.map((line, at) => `${(at === 0 ? name : "").padEnd(width)}  ${line.trim()}`),
  );
}

/**
 * Runs `begin`, waits until the person stops the command, then runs `close`. Also closes if `begin` throws, because an open
 * listener would keep the process alive. Prints a note if closing takes a while.
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
    const text = "Stopping. Running tasks get a few seconds. Press Ctrl-C again to stop at once.";
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

/** Throws a UsageError for the first variable that is not set, so that a command fails at its start and not at its first task. */
export function requireSecrets(references: readonly SecretReference[]): void {
  const missing = references.find((reference) => !hasSecret(reference));
  if (missing !== undefined)
    throw new UsageError(`The environment variable ${formatSecretName(missing)} is not set.`);
}

/** Like `requireSecrets`, for the tokens of callers. Also throws for a token that is too short. */
export function requireTokens(references: readonly SecretReference[]): void {
  requireSecrets(references);
  const [problem] = shortTokenProblems({ references });
  if (problem !== undefined) throw new UsageError(problem);
}

export function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(`--port: "${text}" is not a port number (0 to 65535).`);
}
