/** The allowlist as it is in force: the configuration's rules, and those of the store as they were a moment ago. */
import type { AllowlistRule } from "../../shared/config/schema.ts";
import type { TaskStore } from "../../shared/engine/ports.ts";
import { type KeptRules, keptRulesId } from "./kept-rules.ts";
import { createKeptValues } from "./kept-values.ts";

/** A rule that was added or removed holds after that long. */
export const rulesKeepMs = 15_000;
/** So long the rules that are known go on where the store is away. */
const rulesStaleMs = 5 * 60_000;

/** Rejects where the store is away and nothing is known any more. */
export function createRulesInForce({
  store,
  now,
}: {
  store: Pick<TaskStore<KeptRules>, "get">;
  now: () => number;
}): (request: { signal: AbortSignal }) => Promise<readonly AllowlistRule[]> {
  const kept = createKeptValues<readonly AllowlistRule[]>({ now, staleMs: rulesStaleMs });
  async function read() {
    const stored = await store.get({ id: keptRulesId });
    return { value: stored?.rules.map(({ rule }) => rule) ?? [], keepMs: rulesKeepMs };
  }
  return ({ signal }) => kept.get({ key: keptRulesId, signal, read });
}
