/** The host's settings from the configuration, the same for every entry. */
import type { Config } from "../shared/config/schema.ts";
import { maxTaskMsOf } from "../shared/config/stage-config.ts";
import type { ExecutionKind } from "../shared/config/stage-schema.ts";

/** `kind` is absent on one machine and in a container. */
export function hostSettings({ execution, kind }: { execution: Config["execution"]; kind?: ExecutionKind }) {
  const { dialects, syncBudgetMs, leaseMs, lostAfterMs, limits } = execution;
  const maxTaskMs = maxTaskMsOf({ config: { execution }, ...(kind && { kind }) });
  return { dialects, syncBudgetMs, maxTaskMs, leaseMs, lostAfterMs, limits };
}
