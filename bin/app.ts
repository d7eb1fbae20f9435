/** The CDK app: reads the configuration, chooses the stage (`-c stage=NAME`), and synthesizes its stacks. */

import { synthesize } from "@sekisho/cdk/app.ts";
import { ConfigError } from "@sekisho/config/config-error.ts";
import { readCdkEnvironment } from "@sekisho/config/environment.ts";
import { configDirectory, loadConfig } from "@sekisho/config/load.ts";

/** Resolves to the exit code. Without `-c stage` it takes the first stage of the file, and says so. */
export async function main(): Promise<number> {
  try {
    const { context, outdir } = readCdkEnvironment();
    const file = typeof context.config === "string" ? context.config : undefined;
    const location = { directory: process.cwd(), file };
    const config = loadConfig(location);
    const [first = "dev"] = Object.keys(config.stages);
    const stageName = typeof context.stage === "string" ? context.stage : first;
    if (context.stage === undefined)
      process.stderr.write(`Using stage ${stageName}. Choose another with -c stage=NAME.\n`);
    synthesize({ config, configDirectory: configDirectory(location), stageName, outdir });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
}
