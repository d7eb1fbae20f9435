/** The configuration file beside a deployed handler. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { errorKind } from "@sekisho/runtime/error-kind.ts";
import type { Config } from "./schema.ts";

/**
 * Reads `config.json` in the handler's folder, which has only the sections that the handler needs. It is not parsed again: the deploy wrote
 * what the same version had parsed, and building the schemas would lengthen a cold start by 30 ms. Throws if it is missing or invalid JSON.
 */
export function readBundledConfig(directory: string): Config {
  const file = join(directory, "config.json");
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    // The message of JSON.parse quotes the file's text, which belongs in no log.
    const problem =
      error instanceof SyntaxError ? "is not JSON" : `cannot be read (${errorKind(error)})`;
    throw new Error(`${file} ${problem}. Bundle it again.`);
  }
}

/** The file of an agent in the handler's folder. The extension makes it CommonJS even below a package.json of type "module". */
export function bundledAgentFile(name?: string): string {
  return name === undefined ? "agent.cjs" : `agent-${name}.cjs`;
}
