/** The allowlist of a stage on AWS: a record of its table, with the operator's own credentials. */
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { createDynamoTaskStore } from "../../../lambdas/shared/engine/aws/task-store.ts";
import { parseStoredRules, rulesKeepMs } from "../../../lambdas/verification/gate/allowlist.ts";
import { openStage } from "../aws/open-stage.ts";
import type { RulePlace } from "./rule-set.ts";

/** Rejects with what to do where the stage is unknown, not deployed, or of another account. */
export async function openAwsRules(request: {
  config: Config;
  stage: string;
  signal: AbortSignal;
}): Promise<RulePlace> {
  const { stageName, outputs, client, guarded } = await openStage(request);
  const { signal } = request;
  const store = createDynamoTaskStore({ client, table: outputs.tableName, parse: parseStoredRules, signal });
  return {
    where: `in stage ${stageName}`,
    store: {
      get: (request) => guarded("read the allowlist", () => store.get(request)),
      create: (request) => guarded("write the allowlist", () => store.create(request)),
      replace: (request) => guarded("write the allowlist", () => store.replace(request)),
    },
    sinceWhen: `within ${rulesKeepMs / 1000} seconds, without a deploy`,
    ofConfiguration: `in stage ${stageName} as it was when it was deployed`,
    close: async () => client.destroy(),
  };
}
