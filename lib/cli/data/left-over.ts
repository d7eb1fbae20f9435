/**
 * Passes request ids from one run of `sekisho data delete` to the next, for records of an Execution zone that only credentials of
 * another account reach.
 */

import { readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { uuidPattern } from "../../../contracts/envelope.ts";
import { sekisho } from "../../../lambdas/shared/command-line.ts";
import { configPath } from "../../../lambdas/shared/config/load.ts";
import { findExecutionTarget } from "../../../lambdas/shared/config/stage-config.ts";
import type { NamedStage } from "../aws/stage.ts";
import { UsageError } from "../command.ts";

type LeftOver = {
  directory: string;
  /** The option --config. */
  config: string | undefined;
  ids: ReadonlySet<string>;
  named: NamedStage;
  nowMs: number;
};

/** Writes the request ids, which name nobody, to a file beside the configuration. Resolves to lines that say what to run. */
export async function writeLeftOver({
  directory,
  config,
  ids,
  named: { stageName, stage },
  nowMs,
}: LeftOver) {
  const path = join(
    dirname(configPath({ directory, file: config })),
    `sekisho-request-ids-${nowMs}.txt`,
  );
  const name = relative(directory, path);
  const configText = config === undefined ? "" : ` --config ${config}`;
  await writeFile(path, `${[...ids].join("\n")}\n`, { mode: 0o600, flag: "wx" });
  const account = findExecutionTarget(stage)?.account ?? "unknown";
  return [
    `The Execution zone's records were not deleted, because they are in account ${account}. They expire a day after each task's end.`,
    "To delete them now, run this with credentials of that account (AWS_PROFILE, or aws sso login):",
    "",
    `  ${sekisho} data delete --request-ids ${name} --stage ${stageName}${configText} --yes`,
    "",
    "Then delete that file.",
  ];
}

/** Reads the request ids that an earlier run wrote. */
export async function readLeftOver({
  directory,
  file,
}: {
  directory: string;
  file: string;
}): Promise<Set<string>> {
  const path = resolve(directory, file);
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => {
    throw new UsageError(`${path} cannot be read (${cause.code}).`);
  });
  const ids = text.split(/\s+/).filter((word) => word !== "");
  const odd = ids.find((id) => !uuidPattern.test(id));
  if (ids.length === 0 || odd !== undefined)
    throw new UsageError(`${path} does not hold request ids, one per line.`);
  return new Set(ids);
}
