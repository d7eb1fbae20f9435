/** The CDK app of one stage: its stacks in deploy order, checked by cdk-nag and by CDK's own template validation. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "@sekisho/config/schema.ts";
import { projectDirectory } from "@sekisho/runtime/project-directory.ts";
import { App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks, ServerlessChecks } from "cdk-nag";
import { addStage, createSettings } from "./stage.ts";

type StageApp = { config: Config; configDirectory: string; stageName: string; outdir: string };

/**
 * Writes the cloud assembly of a stage, with its bundles, into `outdir`. `configDirectory` is the folder to which the path of
 * the agent is relative. Throws if a check of the templates fails, and a ConfigError if the stage is not configured.
 */
export function synthesize({ config, configDirectory, stageName, outdir }: StageApp): void {
  const settings = createSettings({
    config,
    configDirectory,
    stageName,
    folder: join(outdir, "bundles"),
  });
  const app = new App({ outdir, analyticsReporting: false, context: readCdkContext() });
  addStage(app, settings);
  addChecks(app);
  app.synth();
}

/** Makes the synthesis fail for each finding of two cdk-nag packs. cdk.json makes CDK's own validation strict. */
export function addChecks(app: App): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
}

/** The feature flags of cdk.json, so that the app behaves the same under the CDK command line and in a test. */
function readCdkContext(): Record<string, unknown> {
  return JSON.parse(readFileSync(join(projectDirectory, "cdk.json"), "utf8")).context;
}
