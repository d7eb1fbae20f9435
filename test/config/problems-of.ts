/** Returns the problems of a configuration, or an empty list if it is valid. */
import { ConfigError } from "@sekisho/config/config-error.ts";
import { parseConfig } from "@sekisho/config/load.ts";

export function problemsOf(json: unknown): string[] {
  try {
    parseConfig({ json });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return [...error.problems];
    throw error;
  }
}
