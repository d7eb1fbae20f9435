/** The contract of a checkout against the last one that was released. */
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseTexts, readTexts, releasedVersions } from "./read-contract.ts";
import { versionProblems } from "./version-problems.ts";

/** What is to be mended; none where nothing is. `version` is that of `contracts/version.ts`. */
export function checkContract({ directory, version }: { directory: string; version: string }): string[] {
  const folder = join(directory, "contracts/released");
  const last = releasedVersions(folder).at(-1);
  if (last === undefined) return ["contracts/released holds no version that was released."];
  const current = readTexts(join(directory, "contracts/generated"));
  const kept = readTexts(join(folder, last));
  return versionProblems({
    version,
    current: parseTexts(current),
    released: { version: last, files: parseTexts(kept) },
    isSame: isDeepStrictEqual(current, kept),
  });
}
