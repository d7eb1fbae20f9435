/** Changes the record of the kept rules by compare-and-set. */
import { changeRecord } from "../../../lambdas/shared/engine/records.ts";
import { noStoredRules, type StoredRules, storedRulesId } from "../../../lambdas/verification/gate/rules.ts";
import { errorNameOf } from "../aws/aws-failure.ts";
import type { RulePlace } from "./rule-set.ts";

/** `decide` gives the set that it got where nothing is to be changed; it is asked again where somebody else was faster. */
export async function changeRules<T extends { kept: StoredRules }>({
  store,
  decide,
}: {
  store: RulePlace["store"];
  decide: (kept: StoredRules) => T;
}): Promise<T> {
  return changeRecord({
    store: { ...store, get: () => readRules({ store }) },
    id: storedRulesId,
    none: noStoredRules,
    decide(before) {
      const decided = decide(before);
      return { item: decided.kept, result: decided };
    },
    exhausted: () => new Error("Somebody else changes the allowlist again and again. Nothing was written; try again."),
  });
}

/** Undefined where no rule was ever added. Throws where the record is of another version of Sekisho. */
export async function readRules({
  store,
}: {
  store: Pick<RulePlace["store"], "get">;
}): Promise<StoredRules | undefined> {
  try {
    return await store.get({ id: storedRulesId });
  } catch (thrown) {
    // What cannot be read arrives from AWS as the cause of a call that failed.
    if (errorNameOf(thrown) !== "ItemError") throw thrown;
    throw new Error("The rules there are of another version of Sekisho, which this one does not touch.", {
      cause: thrown,
    });
  }
}
