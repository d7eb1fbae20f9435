/** Reads the values to write, from the environment or else from the terminal. */
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { hasSecret, readSecret } from "@sekisho/config/secrets.ts";
import { type CommandRun, UsageError } from "../command.ts";
import { findExpectedShape } from "./secret-shape.ts";
import type { SecretState } from "./secret-store.ts";
import type { StageSecret } from "./stage-secrets.ts";

/** A secret, and its state in Secrets Manager. */
export type SecretWithState = { secret: StageSecret; state: SecretState };

/** Reads all values before any is written, so that an error leaves nothing half done. Undefined if the person ended the input. */
export async function readSecretValues(
  run: CommandRun,
  { chosen, force }: { chosen: SecretWithState[]; force: boolean },
): Promise<(SecretWithState & { value: string })[] | undefined> {
  const missing = chosen.flatMap(({ secret: { env } }) =>
    env === undefined || hasSecret({ env }) ? [] : [env],
  );
  if (missing.length > 0 && process.stdin.isTTY !== true) {
    throw new UsageError(
      `There is no terminal to ask for these secrets. Set the variables: ${missing.join(", ")}.`,
    );
  }
  const givenValues: (SecretWithState & { value: string })[] = [];
  const problems: string[] = [];
  for (const { secret, state } of chosen) {
    const value = await givenValue(run, secret);
    if (value === undefined) return undefined;
    const expectedShape = findExpectedShape({ use: secret.use, value });
    if (expectedShape !== undefined)
      problems.push(
        `${secret.env}: a ${secret.purpose} must be ${expectedShape}. This value is not.`,
      );
    givenValues.push({ secret, state, value });
  }
  if (problems.length > 0 && !force) {
    throw new UsageError(
      [...problems, "Nothing was written. --force writes these values anyway."].join("\n"),
    );
  }
  for (const problem of problems) run.note(`${problem} Written because of --force.`);
  return givenValues;
}

async function givenValue(
  { signal }: CommandRun,
  { env = "", purpose }: StageSecret,
): Promise<string | undefined> {
  const value = hasSecret({ env })
    ? await readSecret({ env })
    : await askHidden({ question: `${purpose} (${env}), not shown: `, signal });
  if (value?.trim() === "") throw new UsageError(`${env} is empty. Nothing was written.`);
  return value?.trim();
}

type HiddenQuestion = {
  question: string;
  signal: AbortSignal;
  input?: NodeJS.ReadableStream;
  show?: (text: string) => void;
};

/**
 * Asks for a secret on the terminal without showing what is typed. Resolves to undefined where the person (Ctrl-C, Ctrl-D) or
 * the signal ended the input.
 */
export async function askHidden({
  question,
  signal,
  input = process.stdin,
  show = (text) => process.stderr.write(text),
}: HiddenQuestion): Promise<string | undefined> {
  // readline turns off the terminal's own echo, and its own output is discarded.
  const nowhere = new Writable({ write: (_chunk, _encoding, onDone) => onDone() });
  const lines = createInterface({ input, output: nowhere, terminal: true });
  const closing = new AbortController();
  lines.once("SIGINT", () => closing.abort()).once("close", () => closing.abort());
  show(question);
  try {
    return await lines.question("", { signal: AbortSignal.any([signal, closing.signal]) });
  } catch {
    return undefined;
  } finally {
    lines.close();
    show("\n");
  }
}
