/** Contracts from their folders: the generated one, and the released ones by version. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { ContractFiles } from "./breaking-changes.ts";
import { compareVersions, parseVersion } from "./version.ts";

/** The texts of all files below the folder, by path with forward slashes, in one order. */
export function readTexts(folder: string): ReadonlyMap<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"));
  return new Map(paths.sort().map((path) => [path, readFileSync(join(folder, path), "utf8")]));
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
