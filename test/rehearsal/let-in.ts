/** Somebody who was refused is let in by `sekisho allow add --stage`, told once for all kinds. */

import { parseStoredRules } from "../../lambdas/verification/gate/rules.ts";
import { changeRules } from "../../lib/cli/allow/change-rules.ts";
import { withRule } from "../../lib/cli/allow/rule-set.ts";
import { startAnew } from "./moves.ts";
import { answer } from "./stories.ts";
import type { World } from "./world.ts";
import { openZoneTables } from "./zone-tables.ts";

const channel = "DSTANDIN";

/** Resolves to what was said to the person before. Workers look for rules at their start, warm ones after 15 s. */
export async function isLetIn(world: World): Promise<{ refusal: string }> {
  const refused = world.ask({ text: "let me in", channel });
  const refusal = await answer(world, refused.message, /DSTANDIN/);
  const tables = openZoneTables(world);
  try {
    const store = tables.storeOf({ zone: "verification", parse: parseStoredRules });
    await changeRules({ store, decide: (kept) => withRule({ kept, rule: { channel }, nowMs: Date.now() }) });
  } finally {
    tables.close();
  }
  await startAnew(world);
  const asked = world.ask({ text: "am I in now?", channel });
  await answer(world, asked.message, /am I in now\?/);
  return { refusal };
}
