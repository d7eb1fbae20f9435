/** How many rules `sekisho allow` keeps at a place. */
import { keptRulesId } from "../../lambdas/verification/gate/kept-rules.ts";
import type { RulePlace } from "../allow/place.ts";

/** Closes the place. */
export async function countRules({ store, close }: RulePlace): Promise<number> {
  try {
    return (await store.get({ id: keptRulesId }))?.rules.length ?? 0;
  } finally {
    await close();
  }
}
