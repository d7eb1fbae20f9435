/** The allowlist of a zone: the rules of its store, and those of the configuration. */
import { basename, dirname } from "node:path";
import { configPath } from "@sekisho/config/load.ts";
import type { AllowlistRule } from "@sekisho/config/schema.ts";
import { isFolderLocked } from "@sekisho/local/folder-lock.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { changeRecord } from "@sekisho/runtime/engine/records.ts";
import { hasManyWorkspaces } from "@sekisho/verification/gate/border.ts";
import {
  noStoredRules,
  parseStoredRules,
  rulesKeepMs,
  type StoredRules,
  storedRulesId,
} from "@sekisho/verification/gate/rules.ts";
import { errorNameOf } from "../aws/aws-failure.ts";
import { quoteForShell } from "../shell.ts";
import type { OpenZone } from "../zone/open-zone.ts";
import { withZone, type ZoneRun, type ZoneValues } from "../zone/zone.ts";

export type RuleStore = Pick<TaskStore<StoredRules>, "get" | "create" | "replace">;

export type RuleZone = {
  /** Completes "There is no such rule ...". */
  where: string;
  /** Rejects with errors whose messages say what to do. */
  store: RuleStore;
  /** The time at which a change takes effect, as text. */
  sinceWhen: string;
  /** The same for the rules of the configuration. */
  ofConfiguration: string;
  configured: readonly AllowlistRule[];
  /** A rule without a workspace counts nowhere then. */
  hasManyWorkspaces: boolean;
  configName: string;
  /** The options by which another command finds this zone, after a space; "" for the default. */
  zoneOptionsText: string;
};

/** Runs `work` on the rules of the zone that the options name, and closes it. */
export async function withRuleZone<T>(
  run: ZoneRun,
  values: ZoneValues,
  work: (zone: RuleZone) => Promise<T>,
) {
  const { stage, store, config } = values;
  const options = Object.entries({ stage, store, config });
  return withZone(run, values, async (zone) =>
    work({
      where: zone.where,
      store: openRules(zone),
      ...describeEffect(zone),
      configured: zone.config().allowlist,
      hasManyWorkspaces: hasManyWorkspaces(zone.config()),
      configName: basename(configPath({ directory: run.directory, file: config })),
      zoneOptionsText: options
        .map(([name, value]) => (value === undefined ? "" : ` --${name} ${quoteForShell(value)}`))
        .join(""),
    }),
  );
}

export function openRules({ store }: OpenZone): RuleStore {
  return store({
    parse: parseStoredRules,
    doing: { read: "read the allowlist", write: "write the allowlist" },
  });
}

function describeEffect({ at }: OpenZone): Pick<RuleZone, "sinceWhen" | "ofConfiguration"> {
  const soon = `within ${rulesKeepMs / 1000} seconds`;
  if ("stageName" in at) {
    const ofConfiguration = `in stage ${at.stageName} as of the last deploy`;
    return { sinceWhen: `${soon}, without a deploy`, ofConfiguration };
  }
  const later = isFolderLocked({ folder: dirname(at.file) })
    ? ""
    : " if the zone runs, otherwise at its next start";
  return {
    sinceWhen: `${soon}, without a restart${later}`,
    ofConfiguration: "as of the zone's last start",
  };
}

/** Returns the stored rules, and closes the zone. */
export async function listStoredRules(zone: OpenZone): Promise<readonly AllowlistRule[]> {
  try {
    return (await readRules({ store: openRules(zone) }))?.rules.map(({ rule }) => rule) ?? [];
  } finally {
    await zone.close();
  }
}

/** Undefined if no rule was ever added. Throws if the record is of another version of Sekisho. */
export async function readRules({
  store,
}: {
  store: Pick<RuleStore, "get">;
}): Promise<StoredRules | undefined> {
  try {
    return await store.get({ id: storedRulesId });
  } catch (cause) {
    // On AWS the error of an unreadable record is the cause of a failed call.
    if (errorNameOf(cause) !== "ItemError") throw cause;
    const text = "Another version of Sekisho wrote these rules, and this version cannot read them.";
    throw new Error(text, { cause });
  }
}

type RuleChange<T extends { stored: StoredRules }> = {
  store: RuleStore;
  decide: (storedRules: StoredRules) => T;
};

/** Changes the stored rules by compare-and-set. `decide` returns the set that it got if nothing changes. It may be called again. */
export async function changeRules<T extends { stored: StoredRules }>({
  store,
  decide,
}: RuleChange<T>): Promise<T> {
  return changeRecord({
    store: { ...store, get: () => readRules({ store }) },
    id: storedRulesId,
    none: noStoredRules,
    decide(currentRules) {
      const result = decide(currentRules);
      return { item: result.stored, result };
    },
    exhausted: () =>
      new Error("Other people keep changing the allowlist. Nothing was written. Try again."),
  });
}
