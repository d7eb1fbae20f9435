/** Rules of the allowlist that name a person: those that `sekisho allow` keeps, and those of the configuration. */
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import type { ErasableStore } from "../../../lambdas/shared/engine/ports.ts";
import {
  parseStoredRules,
  type StoredRule,
  type StoredRules,
  storedRulesId,
} from "../../../lambdas/verification/gate/rules.ts";
import { changeRules } from "../allow/change-rules.ts";
import { withoutRule } from "../allow/rule-set.ts";
import type { Person, StoredRecord } from "./person.ts";

/** A rule without a workspace fits the person in every one. */
type Naming = { team?: string | undefined; user?: string | undefined };

export async function listRulesOfPerson({
  store,
  person,
}: {
  store: ErasableStore<StoredRecord>;
  person: Person;
}): Promise<StoredRule[]> {
  const record = await store.get({ id: storedRulesId });
  if (record === undefined) return [];
  return parseStoredRules(record).rules.filter(({ rule }) => isAbout(rule, person));
}

export async function removeRules({
  store,
  person,
}: {
  store: ErasableStore<StoredRecord>;
  person: Person;
}): Promise<void> {
  const typed = (record: StoredRecord | undefined): StoredRules | undefined => record && parseStoredRules(record);
  await changeRules({
    store: {
      get: async (request) => typed(await store.get(request)),
      create: async ({ item }) => typed(await store.create({ item: { ...item } })),
      replace: async ({ item }) => typed(await store.replace({ item: { ...item } })),
    },
    decide: (before) => ({
      kept: before.rules
        .filter(({ rule }) => isAbout(rule, person))
        .reduce((kept, { number }) => withoutRule({ kept, meant: number }).kept, before),
    }),
  });
}

/** Where the configuration names the person: that is a file, which its owner edits. */
export function listConfigPaths({ config, person }: { config: Config; person: Person }): string[] {
  const places = [
    ["allowlist", config.allowlist],
    ["slack.admins", config.slack.admins],
  ] as const;
  return places.flatMap(([path, entries]) =>
    entries.flatMap((entry, at) => (isAbout(entry as Naming, person) ? [`${path}[${at}]`] : [])),
  );
}

function isAbout({ team, user }: Naming, person: Person): boolean {
  return user === person.user && (team === undefined || team === person.team);
}
