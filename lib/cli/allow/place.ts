/** The allowlist of a zone: the rules of its store, and those of the configuration. */
import { basename, dirname } from "node:path";
import type { CommandRun } from "../../../bin/commands/command.ts";
import { configPath } from "../../../lambdas/shared/config/load.ts";
import type { AllowlistRule } from "../../../lambdas/shared/config/schema.ts";
import { parseStoredRules, rulesKeepMs, storedRulesId } from "../../../lambdas/verification/gate/rules.ts";
import { isFolderLocked } from "../../local/engine.ts";
import type { OpenZone } from "../zone/open-zone.ts";
import { atZone, type ZoneValues } from "../zone/zone.ts";
import type { RulePlace } from "./rule-set.ts";

/** What `work` gets of the place: its words, and the configuration's own rules. */
export type OpenedRulePlace = {
  place: RulePlace;
  configured: readonly AllowlistRule[];
  configName: string;
  /** The words by which another command finds the same place, with a space before them; "" where it is the default. */
  placeText: string;
};

/** Runs `work` on the rules of the zone that the options name, and closes it. */
export async function withRulePlace<T>(
  run: Pick<CommandRun, "directory" | "signal">,
  values: ZoneValues,
  work: (at: OpenedRulePlace) => Promise<T>,
): Promise<T> {
  const { stage, store, config } = values;
  const words = Object.entries({ stage, store, config });
  return atZone(run, values, async (zone) =>
    work({
      place: rulePlace(zone),
      configured: zone.config().allowlist,
      configName: basename(configPath({ directory: run.directory, file: config })),
      placeText: words.map(([name, value]) => (value === undefined ? "" : ` --${name} ${quoted(value)}`)).join(""),
    }),
  );
}

function rulePlace({ where, at, ...zone }: OpenZone): RulePlace {
  const store = zone.store({
    parse: parseStoredRules,
    doing: { read: "read the allowlist", write: "write the allowlist" },
  });
  const soon = `within ${rulesKeepMs / 1000} seconds`;
  if ("stageName" in at) {
    return {
      where,
      store,
      sinceWhen: `${soon}, without a deploy`,
      ofConfiguration: `in stage ${at.stageName} as it was when it was deployed`,
    };
  }
  const isRunning = isFolderLocked({ folder: dirname(at.file) });
  return {
    where,
    store,
    sinceWhen: `${soon}, without a restart${isRunning ? "" : ", where the zone is at work; else from its next start on"}`,
    ofConfiguration: "from the next start on",
  };
}

/** How many rules `sekisho allow` keeps in the zone, which is closed. */
export async function countRules(zone: OpenZone): Promise<number> {
  try {
    return (await rulePlace(zone).store.get({ id: storedRulesId }))?.rules.length ?? 0;
  } finally {
    await zone.close();
  }
}

/** As a shell takes it for one word. */
function quoted(word: string): string {
  return /^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
