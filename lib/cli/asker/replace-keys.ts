/** Writes the keys of a rotation into the configuration. */
import { isDeepStrictEqual } from "node:util";
import type { AskerConfig } from "@sekisho/config/asker-schema.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { readTextFile } from "@sekisho/runtime/text-file.ts";
import { openReplacement } from "../destinations/replace-file.ts";
import { setMember } from "../set-member.ts";

type Keys = AskerConfig["keys"];

/** Changes only this part of the file. Throws if the file no longer has the keys `before`, for which the rotation was planned. */
export function replaceKeys(request: { path: string; before: Keys; after: Keys }): void {
  const { path, before, after } = request;
  const oldText = readTextFile(path);
  const { asker } = parseConfig({ json: JSON.parse(oldText), name: path });
  if (!isDeepStrictEqual(asker?.keys, before))
    throw new Error(`${path} was changed by someone else meanwhile; try again.`);
  const newText = setMember(oldText, ["asker", "keys"], after);
  parseConfig({ json: JSON.parse(newText), name: path });
  const replacement = openReplacement({ path });
  try {
    replacement.write({ before: oldText, after: newText });
  } finally {
    replacement.close();
  }
}
