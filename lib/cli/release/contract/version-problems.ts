/** Whether the contract's version says what has become of the contract since the last released one. */
import { breakingChanges, type ContractFiles } from "./breaking-changes.ts";
import { compareVersions, parseVersion } from "./version.ts";

export type ReleasedContract = { version: string; files: ContractFiles };

/** `isSame`: not a byte differs. Each problem says what to do; none where the version fits. */
export function versionProblems({
  version,
  current,
  released,
  isSame,
}: {
  version: string;
  current: ContractFiles;
  /** The last one. */
  released: ReleasedContract;
  isSame: boolean;
}): string[] {
  const [now, last] = [parseVersion(version), parseVersion(released.version)];
  if (now === undefined || last === undefined)
    return [`contracts/version.ts: "${version}" is no version, such as 1.2.3`];
  if (compareVersions(version, released.version) < 0) {
    return [`contracts/version.ts: ${version} is older than ${released.version}, which was released`];
  }
  if (isSame) return [];
  const breaks = now.major > last.major ? [] : breakingChanges({ released: released.files, current });
  const { major, minor } = last;
  if (breaks.length > 0) {
    const ask = `Keep the contract compatible, or set contractVersion in contracts/version.ts to ${major + 1}.0.0: it breaks ${released.version}`;
    return [ask, ...breaks];
  }
  if (version !== released.version) return [];
  const ask = `Set contractVersion in contracts/version.ts to ${major}.${minor + 1}.0, and run npm run contracts`;
  return [`${ask}: contracts/generated is no longer contracts/released/${released.version}`];
}
