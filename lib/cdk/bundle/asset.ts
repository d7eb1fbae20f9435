/** Bundles as the code of functions: a folder with the files of each, which CDK copies into its assembly. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../../lambdas/shared/config/schema.ts";
import { type Bundle, bundle } from "./bundle.ts";
import type { BundleName } from "./entry.ts";

/** Writes the bundle's folder and returns its path. */
export type WriteBundle = (name: BundleName) => string;

/** Each bundle is made once, below `folder`. */
export function createWriteBundle({
  config,
  configDirectory,
  folder,
}: {
  config: Config;
  configDirectory: string;
  folder: string;
}): WriteBundle {
  const written = new Map<BundleName, string>();
  return (name) => {
    const known = written.get(name);
    if (known !== undefined) return known;
    const target = join(folder, name);
    writeFiles({ ...bundle({ name, config, configDirectory }), folder: target });
    written.set(name, target);
    return target;
  };
}

/** Writes the files into `folder`, which is made where it does not exist. Returns their paths. */
export function writeFiles({ files, folder }: Pick<Bundle, "files"> & { folder: string }): string[] {
  mkdirSync(folder, { recursive: true });
  return [...files].map(([name, content]) => {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  });
}
