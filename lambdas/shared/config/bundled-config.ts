/** The configuration that a deploy writes beside a handler. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Reads `config.json` in the folder of the handler. It holds only the sections that the handler needs.
 * Throws where the file is missing or is not JSON.
 */
export function readBundledConfig(directory: string): unknown {
  return JSON.parse(readFileSync(join(directory, "config.json"), "utf8"));
}
