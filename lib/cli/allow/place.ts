/** Where the commands about the allowlist find its rules: the configuration, and the local run's file or a stage on AWS. */
import { basename } from "node:path";
import { type CommandRun, UsageError } from "../../../bin/commands/command.ts";
import { configPath, loadConfig } from "../../../lambdas/shared/config/load.ts";
import type { AllowlistRule } from "../../../lambdas/shared/config/schema.ts";
import type { PlaceValues } from "../tasks/place.ts";
import { openAwsRules } from "./aws-rules.ts";
import { openLocalRules } from "./local-rules.ts";
import type { RulePlace } from "./rule-set.ts";

export const rulePlaceHelp = `
  --stage NAME   a stage on AWS, with your own credentials; without it the local run in this folder
  --store FILE   the local run's file, instead of .sekisho/verification.db
  --config FILE  where stages and the configuration's rules are looked for, instead of ./sekisho.config.json
`.slice(1, -1);

/** What `work` gets of the place: its words, and the configuration's own rules. */
export type OpenedRulePlace = {
  place: RulePlace;
  configured: readonly AllowlistRule[];
  configName: string;
  /** The words by which another command finds the same place, with a space before them; "" where it is the default. */
  placeText: string;
};

/** Runs `work` at the place that the words name, and closes it. */
export async function withRulePlace<T>(
  { directory, signal }: Pick<CommandRun, "directory" | "signal">,
  values: PlaceValues,
  work: (at: OpenedRulePlace) => Promise<T>,
): Promise<T> {
  const { stage, store, config: file } = values;
  if (stage !== undefined && store !== undefined) throw new UsageError("--stage or --store, not both.");
  const config = loadConfig({ directory, file });
  const place =
    stage === undefined ? openLocalRules({ directory, file: store }) : await openAwsRules({ config, stage, signal });
  const words = Object.entries({ stage, store, config: file });
  try {
    return await work({
      place,
      configured: config.allowlist,
      configName: basename(configPath({ directory, file })),
      placeText: words.map(([name, value]) => (value === undefined ? "" : ` --${name} ${quoted(value)}`)).join(""),
    });
  } finally {
    await place.close();
  }
}

/** As a shell takes it for one word. */
function quoted(word: string): string {
  return /^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
