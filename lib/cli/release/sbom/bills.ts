/** The bills of materials of this project: one of all that the repository installs to run, one of each bundle. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../../../lambdas/shared/config/schema.ts";
import { type Bundle, bundle } from "../../../cdk/bundle/bundle.ts";
import type { BundleName } from "../../../cdk/bundle/entry.ts";
import { type Bill, billOfMaterials, type Subject } from "./cyclonedx.ts";
import { isAllowed } from "./licenses.ts";
import { type Lock, type LockedPackage, readLock } from "./locked-packages.ts";

export function readLockFile(directory: string): Lock {
  return readLock(JSON.parse(readFileSync(join(directory, "package-lock.json"), "utf8")));
}

/** What a bill is of. */
export type Contents = { subject: Subject; packages: ReadonlyMap<string, LockedPackage> };

export function listProjectContents({ name, version, packages }: Lock): Contents {
  const description = "All packages that the repository installs to run, and optional ones for its platforms";
  const used = [...packages].filter(([, { isDev }]) => !isDev);
  return { subject: { name, version, description }, packages: new Map(used) };
}

/** With the bundle itself; `config` decides which agent is in it. */
export function listBundleContents({
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
  const subject = { name: `${lock.name}-${toKebabCase(name)}`, version: lock.version, description };
  return { subject, packages: new Map(entries), bundle: made };
}

/** Throws where a package has no license, or one that is not on the list. */
export function createBill({ contents, lock, at }: { contents: Contents; lock: Lock; at: string | undefined }): Bill {
  const problems = licenseProblems(contents.packages);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  return billOfMaterials({ ...contents, roots: lock.needs, at });
}

export function licenseProblems(packages: Contents["packages"]): string[] {
  return [...packages.values()]
    .filter(({ license }) => license === undefined || !isAllowed(license))
    .map(({ name, version, license }) => {
      const what = license === undefined ? "has no license" : `is under ${license}`;
      return `${name}@${version} ${what}: lib/cli/release/sbom/licenses.ts and docs/dependencies.md list the licenses that may be used.`;
    });
}

/** As it is written to a file. */
export function formatBill(bill: Bill): string {
  return `${JSON.stringify(bill, null, 2)}\n`;
}

/** Bundles have names of variables; files have names in kebab-case. */
export function toKebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

// Which packages of the lock file a bundle holds, by what esbuild says that it is made of.

/** What of esbuild's metafile counts here. */
export type BundleContents = {
  outputs: Readonly<Record<string, { inputs: Readonly<Record<string, { bytesInOutput: number }>> }>>;
};

/** Paths as in the lock file, such as `node_modules/a/node_modules/b`. A file of which nothing is left does not count. */
export function bundledPackages({ outputs }: BundleContents): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const left = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return [...new Set(left.flatMap(([file]) => packageOf(file)))].sort();
}

/** The last package on the way to the file, with those in which it lies. */
function packageOf(file: string): string[] {
  const [path] = /node_modules\/(?:@[^/]+\/)?[^/]+(?:\/node_modules\/(?:@[^/]+\/)?[^/]+)*/.exec(file) ?? [];
  return path === undefined ? [] : [path];
}
