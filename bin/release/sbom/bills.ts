/** The bills of materials of this project: one of all that the repository installs to run, one of each bundle. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { type Bundle, bundle } from "../../../lib/bundle/bundle.ts";
import type { BundleName } from "../../../lib/bundle/entry.ts";
import { bundledPackages } from "./bundled-packages.ts";
import { type Bill, billOfMaterials, type Subject } from "./cyclonedx.ts";
import { isAllowed } from "./licenses.ts";
import { type Lock, type LockedPackage, readLock } from "./locked-packages.ts";

export function lockOf(directory: string): Lock {
  return readLock(JSON.parse(readFileSync(join(directory, "package-lock.json"), "utf8")));
}

/** What a bill is of. */
export type Contents = { subject: Subject; packages: ReadonlyMap<string, LockedPackage> };

export function contentsOfProject({ name, version, packages }: Lock): Contents {
  const description = "All packages that the repository installs to run, and optional ones for its platforms";
  const used = [...packages].filter(([, { isDev }]) => !isDev);
  return { subject: { name, version, description }, packages: new Map(used) };
}

/** With the bundle itself; `config` decides which agent is in it. */
export function contentsOfBundle({
  lock,
  name,
  config,
  configDirectory,
}: {
  lock: Lock;
  name: BundleName;
  config: Config;
  configDirectory: string;
}): Contents & { bundle: Bundle } {
  const made = bundle({ name, config, configDirectory });
  const entries = bundledPackages(made.metafile).map((path): [string, LockedPackage] => {
    const locked = lock.packages.get(path);
    if (locked === undefined)
      throw new Error(`The bundle ${name} holds ${path}, which package-lock.json does not know.`);
    return [path, { ...locked, isOptional: false }];
  });
  const description = `The packages in the bundle ${name}`;
  const subject = { name: `${lock.name}-${kebab(name)}`, version: lock.version, description };
  return { subject, packages: new Map(entries), bundle: made };
}

/** Throws where a package has no license, or one that is not on the list. */
export function billOf({ contents, lock, at }: { contents: Contents; lock: Lock; at: string | undefined }): Bill {
  const problems = licenseProblems(contents.packages);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return billOfMaterials({ ...contents, roots: lock.needs, at });
}

export function licenseProblems(packages: Contents["packages"]): string[] {
  return [...packages.values()]
    .filter(({ license }) => license === undefined || !isAllowed(license))
    .map(({ name, version, license }) => {
      const what = license === undefined ? "has no license" : `is under ${license}`;
      return `${name}@${version} ${what}: bin/release/sbom/licenses.ts and docs/dependencies.md list the licenses that may be used.`;
    });
}

/** As it is written to a file. */
export function textOf(bill: Bill): string {
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** Bundles have names of variables; files have names in kebab-case. */
export function kebab(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
