/** The asker's tokens in the worker on Lambda. */
import type { Config } from "@sekisho/config/schema.ts";
import type { AskerTokens } from "@sekisho/runtime/asker/asker.ts";
import { createLazyTokens } from "@sekisho/runtime/asker/lazy-tokens.ts";
import { throwAwsFailure } from "@sekisho/runtime/auth/assumed-role.ts";
import { createJsonClient } from "@sekisho/runtime/aws/json-call.ts";
import type { Metrics } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { WorkerEnvironment } from "../config/worker-environment.ts";

const timeoutMs = 5000;

/** Undefined if the configuration has no issuer. Fails for each call while the environment has no keys, as between two steps of a deployment. */
export function openStageAskerTokens(options: {
  asker: Config["asker"];
  environment: Pick<WorkerEnvironment, "asker" | "aws">;
  metrics: Metrics;
}): AskerTokens | undefined {
  const { asker, environment, metrics } = options;
  const { aws, asker: stage } = environment;
  if (asker === undefined) return undefined;
  return createLazyTokens({
    async load() {
      if (stage === undefined) throw new Error("The environment has no keys of the asker.");
      const { createStageAskerTokens } = await import("@sekisho/runtime/asker/stage-tokens.ts");
      const client = createJsonClient({ ...aws, service: "kms", timeoutMs, maxAttempts: 2 });
      return createStageAskerTokens({
        issuer: asker.issuer,
        clientId: stage.clientId,
        algorithm: asker.algorithm,
        keys: asker.keys.flatMap((key) => {
          const arn = stage.keys[key.id];
          return arn === undefined ? [] : [{ ...key, arn }];
        }),
        sign: (input, limits) => client.call("Sign", input, limits).catch(throwAwsFailure),
      });
    },
    onFailure: ({ reason }) => metrics.add("sekisho_asker_failures_total", { reason }),
  });
}
