/** Changes the record of the kept rules by compare-and-set. */
import { type KeptRules, keptRulesId, noKeptRules } from "../../lambdas/verification/gate/kept-rules.ts";
import { errorNameOf } from "../aws/aws-failure.ts";
import type { RulePlace } from "./place.ts";

/** So many people change the rules at once hardly ever. */
const maxAttempts = 20;

/** `decide` gives the set that it got where nothing is to be changed; it is asked again where somebody else was faster. */
export async function changeRules<T extends { kept: KeptRules }>({
  store,
  decide,
}: {
  store: RulePlace["store"];
  decide: (kept: KeptRules) => T;
}): Promise<T> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const known = await readRules({ store });
    const before = known ?? noKeptRules();
    const decided = decide(before);
    if (decided.kept === before) return decided;
    const item = decided.kept;
    const stored = await (known === undefined ? store.create({ item }) : store.replace({ item }));
    if (stored !== undefined) return decided;
  }
  throw new Error("Somebody else changes the allowlist again and again. Nothing was written; try again.");
}

/** Undefined where no rule was ever added. Throws where the record is of another version of Sekisho. */
export async function readRules({ store }: { store: Pick<RulePlace["store"], "get"> }): Promise<KeptRules | undefined> {
  try {
    return await store.get({ id: keptRulesId });
  } catch (thrown) {
    // What cannot be read arrives from AWS as the cause of a call that failed.
    if (errorNameOf(thrown) !== "ItemError") throw thrown;
    throw new Error("The rules there are of another version of Sekisho, which this one does not touch.", {
      cause: thrown,
    });
  }
}
