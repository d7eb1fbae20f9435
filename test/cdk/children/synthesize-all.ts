/** Synthesizes the stage `dev` of each configuration into a folder of its name. */
import { join } from "node:path";
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { synthesize } from "../../../lib/cdk/app.ts";

const [, , directory = "", configs = "{}"] = process.argv;
for (const [name, json] of Object.entries<unknown>(JSON.parse(configs))) {
  const config = parseConfig({ json });
  synthesize({ config, configDirectory: process.cwd(), stageName: "dev", outdir: join(directory, name) });
}
