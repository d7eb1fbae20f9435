/** How many rules `sekisho allow` keeps at a place. */
import { storedRulesId } from "../../../lambdas/verification/gate/allowlist.ts";
import type { RulePlace } from "../allow/rule-set.ts";

/** Closes the place. */
export async function countRules({ store, close }: RulePlace): Promise<number> {
  try {
    return (await store.get({ id: storedRulesId }))?.rules.length ?? 0;
  } finally {
    await close();
  }
}
