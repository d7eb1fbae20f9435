/** Rules of the allowlist that name a person: those of `sekisho allow`, and those of the configuration. */
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { StoredRule } from "../../../lambdas/verification/gate/rules.ts";
import { changeRules, type RuleStore, readRules } from "../allow/rule-zone.ts";
import type { Person } from "./person.ts";

type RulesOfPerson = { rules: RuleStore; person: Person };

export async function listRulesOfPerson({ rules, person }: RulesOfPerson): Promise<StoredRule[]> {
  const stored = await readRules({ store: rules });
  return stored?.rules.filter(({ rule }) => isAbout(rule, person)) ?? [];
}

export async function removeRules({ rules: store, person }: RulesOfPerson): Promise<void> {
  await changeRules({
    store,
    decide(before) {
      const rules = before.rules.filter(({ rule }) => !isAbout(rule, person));
      return { stored: rules.length === before.rules.length ? before : { ...before, rules } };
    },
  });
}

/** The paths at which the configuration names the person. Only its owner edits that file. */
export function listConfigPaths({ config, person }: { config: Config; person: Person }): string[] {
  const lists = [
    ["allowlist", config.allowlist],
    ["slack.admins", config.slack.admins],
  ] as const;
  return lists.flatMap(([path, entries]) =>
    entries.flatMap((entry, at) => (isAbout(entry, person) ? [`${path}[${at}]`] : [])),
  );
}

/** A rule without a workspace fits the person in every one. */
function isAbout(rule: object, person: Person): boolean {
  const { team, user } = rule as Partial<Person>;
  return user === person.user && (team === undefined || team === person.team);
}
