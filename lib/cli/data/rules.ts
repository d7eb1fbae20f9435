/** Rules of the allowlist that name a person: those of `sekisho allow`, and those of the configuration. */
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { ErasableStore } from "../../../lambdas/shared/engine/ports.ts";
import {
  parseStoredRules,
  type StoredRule,
  type StoredRules,
  storedRulesId,
} from "../../../lambdas/verification/gate/rules.ts";
import { changeRules } from "../allow/place.ts";
import type { Person, StoredRecord } from "./person.ts";

type Store = ErasableStore<StoredRecord>;

export async function listRulesOfPerson({ store, person }: { store: Store; person: Person }): Promise<StoredRule[]> {
  const record = await store.get({ id: storedRulesId });
  return record === undefined ? [] : parseStoredRules(record).rules.filter(({ rule }) => isAbout(rule, person));
}

export async function removeRules({ store, person }: { store: Store; person: Person }): Promise<void> {
  const typed = (record: StoredRecord | undefined): StoredRules | undefined => record && parseStoredRules(record);
  await changeRules({
    store: {
      get: async (request) => typed(await store.get(request)),
      create: async ({ item }) => typed(await store.create({ item: { ...item } })),
      replace: async ({ item }) => typed(await store.replace({ item: { ...item } })),
    },
    decide(before) {
      const rules = before.rules.filter(({ rule }) => !isAbout(rule, person));
      return { kept: rules.length === before.rules.length ? before : { ...before, rules } };
    },
  });
}

/** Where the configuration names the person. Only its owner edits that file. */
export function listConfigPaths({ config, person }: { config: Config; person: Person }): string[] {
  const places = [
    ["allowlist", config.allowlist],
    ["slack.admins", config.slack.admins],
  ] as const;
  return places.flatMap(([path, entries]) =>
    entries.flatMap((entry, at) => (isAbout(entry, person) ? [`${path}[${at}]`] : [])),
  );
}

/** A rule without a workspace fits the person in every one. */
function isAbout(rule: object, person: Person): boolean {
  const { team, user } = rule as Partial<Person>;
  return user === person.user && (team === undefined || team === person.team);
}
