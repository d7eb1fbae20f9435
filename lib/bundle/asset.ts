/** A bundle as the code of a function: a folder with the one file, which CDK copies into its assembly. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { bundle } from "./bundle.ts";
import type { BundleName } from "./entry.ts";

/** Writes the bundle's folder; resolves names as Lambda (`index.js`) and AgentCore (`server.js`) look for them. */
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
    mkdirSync(target, { recursive: true });
    const { code } = bundle({ name, config, configDirectory });
    writeFileSync(join(target, name === "agentcore" ? "server.js" : "index.js"), code);
    written.set(name, target);
    return target;
  };
}
