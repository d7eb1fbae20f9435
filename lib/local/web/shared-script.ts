/** The script that every page uses, at the address that pages import it by. */
import { readFileSync } from "node:fs";

export const sharedPath = "/web/";

/** Its address, and itself. */
export function sharedScript(): readonly [string, string] {
  return [`${sharedPath}dom.js`, readFileSync(new URL("./dom.js", import.meta.url), "utf8")];
}
