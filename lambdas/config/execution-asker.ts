/** What the Execution host verifies of the person who asked, with what follows from the rest of the configuration. */
import type { ExecutionAsker } from "./asker-schema.ts";
import { ConfigError, configFileName } from "./config-error.ts";
import { ownAudience } from "./destination-address.ts";
import type { Config } from "./schema.ts";

/** The bundles of the Execution zone lack the section `asker`, so its issuer becomes a zone of `execution.asker`. */
export function withAskerZones<C extends Pick<Config, "asker" | "execution">>(config: C): C {
  const { asker, execution } = config;
  if (asker === undefined || execution.asker === undefined) return config;
  const { issuer, algorithm } = asker;
  const { zones = [{ issuer, algorithms: [algorithm] }] } = execution.asker;
  return { ...config, execution: { ...execution, asker: { ...execution.asker, zones } } };
}

/** Throws a ConfigError if no zone is trusted, because such a host would refuse every task. */
export function resolveAskerSettings(asker: ExecutionAsker) {
  const { mode, audience = ownAudience, zones } = asker;
  if (zones === undefined)
    throw new ConfigError(configFileName, [`execution.asker: ${needsZones}`]);
  return { mode, audience, zones };
}

export const needsZones =
  'has no zone whose tokens count; add the section asker, or "zones" with the "issuer" of the tokens';
