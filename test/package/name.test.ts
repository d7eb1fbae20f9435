/** The names of the packages, in their package.json files, in the documents and in the hints of commands. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { packageName } from "@sekisho/sekisho/package-name.ts";
import { publishedPackages } from "../../bin/release/published.ts";
import { packages } from "../boundaries/packages.ts";
import { pages, textOf } from "../docs/pages.ts";

const root = join(import.meta.dirname, "../..");
const readManifest = (folder: string) =>
  JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));

describe("the names of the packages", () => {
  it.each(packages)("names the package in $folder $name", ({ folder, name }) => {
    expect(readManifest(folder).name).toBe(name);
  });

  it("lists each package as a workspace with the same version", () => {
    const { workspaces, version } = readManifest(".");
    expect(workspaces.map((folder: string) => `${folder}/`)).toEqual(
      packages.map(({ folder }) => folder),
    );
    for (const { folder } of packages) expect(readManifest(folder).version).toBe(version);
  });

  it("names one version of each dependency in all packages", () => {
    const pairs = [".", ...packages.map(({ folder }) => folder)].flatMap((folder) => {
      const { dependencies, devDependencies } = readManifest(folder);
      return Object.entries({ ...dependencies, ...devDependencies });
    });
    const versions = new Map<string, Set<unknown>>();
    for (const [name, one] of pairs) versions.set(name, (versions.get(name) ?? new Set()).add(one));
    expect([...versions].filter(([, some]) => some.size > 1)).toEqual([]);
  });

  it("mentions only published packages in the documents of users", () => {
    const listedNames = pages
      .filter((page) => !page.includes("explanation/"))
      .flatMap((page) => textOf(page).match(/@sekisho\/[\w-]+/g) ?? []);
    const names = publishedPackages.map(({ name }) => name);
    expect(listedNames).toContain(packageName);
    expect(listedNames.filter((name) => !names.includes(name))).toEqual([]);
  });
});
