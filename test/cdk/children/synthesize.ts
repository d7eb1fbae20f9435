/** Synthesizes a stage of each configuration into a folder of its name. Arguments: directory, configurations as JSON, stage. */
import { join } from "node:path";
import { synthesize } from "@sekisho/cdk/app.ts";
import { parseConfig } from "@sekisho/config/load.ts";

const [, , directory = "", configs = "{}", stageName = ""] = process.argv;
for (const [name, json] of Object.entries<unknown>(JSON.parse(configs))) {
  const config = parseConfig({ json });
  synthesize({ config, configDirectory: process.cwd(), stageName, outdir: join(directory, name) });
}
