/** What is wrong with a configuration; nothing where it is taken. */
import { ConfigError } from "../../../lambdas/shared/config/config-error.ts";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";

export function problemsOf(json: unknown): string[] {
  try {
    parseConfig({ json });
    return [];
  } catch (thrown) {
    if (thrown instanceof ConfigError) return [...thrown.problems];
    throw thrown;
  }
}
