/** Names that the stacks and the deployed functions share: the configuration file beside a handler, and the alias for operators. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorKind } from "../error-kind.ts";
import type { Config } from "./schema.ts";

/**
 * The alias of the worker function that operators invoke; event sources invoke the function itself. IAM compares the whole ARN, so a
 * permission for the alias does not include the function. Lambda tells the handler which one was invoked.
 */
export const operatorAlias = "operator";

/**
 * Reads `config.json` in the handler's folder, which has only the sections that the handler needs. It is not parsed again: the deploy wrote
 * what the same version had parsed, and building the schemas would lengthen a cold start by 30 ms. Throws if it is missing or invalid JSON.
 */
export function readBundledConfig(directory: string): Config {
  const file = join(directory, "config.json");
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (thrown) {
    // The message of JSON.parse quotes the file's text, which belongs in no log.
    const problem =
      thrown instanceof SyntaxError ? "is not JSON" : `cannot be read (${errorKind(thrown)})`;
    throw new Error(`${file} ${problem}. Bundle it again.`);
  }
}
