/** The CDK app of one stage: its stacks in their order, checked by cdk-nag and by CDK's own validation of templates. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { App, Stack, type StackProps, Validations } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { AwsSolutionsChecks, ServerlessChecks } from "cdk-nag";
import type { Construct } from "constructs";
import { ConfigError } from "../../lambdas/shared/config/load.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { createStageConfig, findExecutionPlace } from "../../lambdas/shared/config/stage-config.ts";
import { createWriteBundle } from "./bundle/asset.ts";
import { projectDirectory } from "./bundle/entry.ts";
import { ExecutionStack } from "./execution-stack.ts";
import { formatRoleName, formatStackName, type ZoneStack } from "./names.ts";
import type { StageSettings } from "./stage-settings.ts";
import { unknownStageText } from "./unknown-stage.ts";
import { VerificationStack } from "./verification-stack.ts";

/**
 * Writes the cloud assembly of a stage into `outdir`, the bundles among it; a path of the agent counts from `configDirectory`.
 * Throws where a check of the templates fails, and a ConfigError where there is no such stage.
 */
export function synthesize({
  config,
  configDirectory,
  stageName,
  outdir,
}: {
  config: Config;
  configDirectory: string;
  stageName: string;
  outdir: string;
}): void {
  const stage = config.stages[stageName];
  if (stage === undefined) throw new ConfigError("The stage", [unknownStageText({ config, stageName })]);
  const ofStage = createStageConfig({ config, stageName });
  const folder = join(outdir, "bundles");
  const writeBundle = createWriteBundle({ config: ofStage, configDirectory, folder });
  const settings: StageSettings = { stageName, stage, config: ofStage, writeBundle };

  const app = new App({ outdir, analyticsReporting: false, context: cdkContext() });
  const { verification } = stage;
  const named = (zone: ZoneStack) => ({ stackName: formatStackName({ stageName, zone }) });
  const identity = new IdentityStack(app, "Identity", { ...named("Identity"), env: verification, stageName });
  const execution = createExecution({ app, settings, named: named("Execution") });
  execution?.addStackDependency(identity);
  const last = new VerificationStack(app, "Verification", {
    ...named("Verification"),
    env: verification,
    settings,
    entry: execution?.entry,
  });
  last.addStackDependency(identity);
  if (execution !== undefined) last.addStackDependency(execution);
  addChecks(app);
  app.synth();
}

function createExecution({
  app,
  settings,
  named,
}: {
  app: App;
  settings: StageSettings;
  named: { stackName: string };
}): ExecutionStack | undefined {
  const { stage, stageName } = settings;
  const env = findExecutionPlace(stage);
  if (env === undefined) return undefined;
  const roleName = formatRoleName({ stageName, zone: "Verification" });
  const callerRoleArn = `arn:${partitionOf(env.region)}:iam::${stage.verification.account}:role/${roleName}`;
  return new ExecutionStack(app, "Execution", { ...named, env, settings, callerRoleArn });
}

function partitionOf(region: string): string {
  if (region.startsWith("cn-")) return "aws-cn";
  return region.startsWith("us-gov-") ? "aws-us-gov" : "aws";
}

/** The same switches whether the CDK command line runs the app or a test does. */
function cdkContext(): Record<string, unknown> {
  return JSON.parse(readFileSync(join(projectDirectory, "cdk.json"), "utf8")).context;
}

// What a template must pass, or the synth fails: two packs of cdk-nag, beside CDK's own validation, which cdk.json makes strict.

export function addChecks(app: App): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
}

// The role of the worker, which calls the Execution zone: known by its name, and there before any policy names it.

class IdentityStack extends Stack {
  constructor(scope: Construct, id: string, { stageName, ...props }: StackProps & { stageName: string }) {
    super(scope, id, props);
    new Role(this, "VerificationRole", {
      roleName: formatRoleName({ stageName, zone: "Verification" }),
      description: `The worker of the Verification zone of stage ${stageName}.`,
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
    });
  }
}
