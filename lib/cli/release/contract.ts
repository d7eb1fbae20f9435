/** The contract of a checkout: whether its files are up to date, and whether its version fits the last one that was released. */
import { cpSync, existsSync, globSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { generatedFiles } from "../../../contracts/generated-files.ts";
import { contractVersion } from "../../../contracts/version.ts";
import { configJsonSchema, schemaFileName } from "../../../lambdas/shared/config/json-schema.ts";
import { breakingChanges, type ContractFiles } from "./breaking-changes.ts";

/** Writes the contract to `contracts/released` under its version. A version that was released is never written again. */
export function freezeContract(directory: string): { done: string } | { problems: string[] } {
  const name = `contracts/released/${contractVersion}`;
  if (existsSync(join(directory, name))) {
    return { problems: [`${name} exists already, and a released contract never changes.`] };
  }
  const problems = [
    ...generatedProblems(directory),
    ...checkContract({ directory, version: contractVersion }),
  ];
  if (problems.length > 0) return { problems };
  cpSync(join(directory, "contracts/generated"), join(directory, name), { recursive: true });
  return { done: `Wrote ${name}. Commit it.` };
}

export function generatedProblems(directory: string): string[] {
  const wanted = new Map(
    [...generatedFiles()].map(([path, text]) => [`contracts/generated/${path}`, text]),
  );
  wanted.set(schemaFileName, configJsonSchema());
  const readText = (path: string) =>
    existsSync(join(directory, path)) ? readFileSync(join(directory, path), "utf8") : "";
  const stale = [...wanted].filter(([path, text]) => readText(path) !== text).map(([path]) => path);
  const present = [...readTexts(join(directory, "contracts/generated")).keys()];
  const surplus = present
    .map((path) => `contracts/generated/${path}`)
    .filter((path) => !wanted.has(path));
  return [...stale, ...surplus].map((path) => `${path} is stale: run npm run contracts.`);
}

/** `version` is that of `contracts/version.ts`. */
export function checkContract({
  directory,
  version,
}: {
  directory: string;
  version: string;
}): string[] {
  const folder = join(directory, "contracts/released");
  const last = releasedVersions(folder).at(-1);
  if (last === undefined) return ["contracts/released holds no released version."];
  const current = readTexts(join(directory, "contracts/generated"));
  const frozen = readTexts(join(folder, last));
  const released = { version: last, files: parseTexts(frozen) };
  return versionProblems({
    version,
    current: parseTexts(current),
    released,
    isSame: isDeepStrictEqual(current, frozen),
  });
}

type VersionChange = {
  version: string;
  current: ContractFiles;
  released: { version: string; files: ContractFiles };
  isSame: boolean;
};

/** `isSame`: not a byte differs. */
export function versionProblems({ version, current, released, isSame }: VersionChange): string[] {
  const [now, last] = [parseVersion(version), parseVersion(released.version)];
  if (now === undefined || last === undefined)
    return [`contracts/version.ts: "${version}" is not a version such as 1.2.3`];
  if (compareVersions(version, released.version) < 0) {
    return [
      `contracts/version.ts: ${version} is older than ${released.version}, which was released`,
    ];
  }
  if (isSame) return [];
  const breaks =
    now.major > last.major ? [] : breakingChanges({ released: released.files, current });
  if (breaks.length > 0) {
    const remedy = `Keep the contract compatible, or set contractVersion in contracts/version.ts to ${last.major + 1}.0.0`;
    return [`${remedy}: it breaks ${released.version}`, ...breaks];
  }
  if (version !== released.version) return [];
  const remedy = `Set contractVersion in contracts/version.ts to ${last.major}.${last.minor + 1}.0, and run npm run contracts`;
  return [`${remedy}: contracts/generated differs from contracts/released/${released.version}`];
}

/** The texts of all files below the folder, by path with forward slashes. */
export function readTexts(folder: string): ReadonlyMap<string, string> {
  const paths = globSync("**/*.json", { cwd: folder }).sort();
  return new Map(
    paths.map((path) => [path.replaceAll("\\", "/"), readFileSync(join(folder, path), "utf8")]),
  );
}

export function parseTexts(texts: ReadonlyMap<string, string>): ContractFiles {
  return new Map([...texts].map(([path, text]) => [path, JSON.parse(text) as unknown]));
}

/** Oldest first. `folder` is `contracts/released`, with a folder for each version. */
export function releasedVersions(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => parseVersion(name) !== undefined)
    .sort(compareVersions);
}

type Version = { major: number; minor: number; patch: number };

/** Reads three numbers (https://semver.org). Releases here have no pre-release versions. */
export function parseVersion(text: string): Version | undefined {
  const [, major, minor, patch] = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.exec(text) ?? [];
  if (major === undefined) return undefined;
  return { major: Number(major), minor: Number(minor), patch: Number(patch) };
}

/** Below 0 where `a` is older. A text that is not a version is older than all versions. */
export function compareVersions(a: string, b: string): number {
  const none = { major: -1, minor: 0, patch: 0 };
  const [left, right] = [parseVersion(a) ?? none, parseVersion(b) ?? none];
  return left.major - right.major || left.minor - right.minor || left.patch - right.patch;
}
