/** Synthesizes a configuration into a folder. */
import { parseConfig } from "../../../lambdas/shared/config/load.ts";
import { synthesize } from "../../../lib/cdk/app.ts";

const [, , outdir = "", json = "", stageName = ""] = process.argv;
const config = parseConfig({ json: JSON.parse(json) });
synthesize({ config, configDirectory: process.cwd(), stageName, outdir });
