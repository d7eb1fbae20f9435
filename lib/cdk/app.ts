/** The CDK app of one stage: its stacks in deploy order, checked by cdk-nag and by CDK's own template validation. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { App, Stack, type StackProps, Validations } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { AwsSolutionsChecks, ServerlessChecks } from "cdk-nag";
import type { Construct } from "constructs";
import { ConfigError } from "../../lambdas/shared/config/config-error.ts";
import type { Config } from "../../lambdas/shared/config/schema.ts";
import { createStageConfig, findExecutionTarget } from "../../lambdas/shared/config/stage-config.ts";
import { createWriteBundle } from "./bundle/bundle.ts";
import { projectDirectory } from "./bundle/entry.ts";
import { ExecutionStack } from "./execution-stack.ts";
import {
  formatRoleName,
  formatStackName,
  formatVerificationRoleArn,
  unknownStageText,
  type ZoneStack,
} from "./names.ts";
import type { StageSettings } from "./stage-settings.ts";
import { VerificationStack } from "./verification-stack.ts";

type StageApp = { config: Config; configDirectory: string; stageName: string; outdir: string };

/**
 * Writes the cloud assembly of a stage, with its bundles, into `outdir`. `configDirectory` is the folder to which the path of
 * the agent is relative. Throws if a check of the templates fails, and a ConfigError if the stage is not configured.
 */
export function synthesize({ config, configDirectory, stageName, outdir }: StageApp): void {
  const stage = config.stages[stageName];
  if (stage === undefined) throw new ConfigError("The stage", [unknownStageText(config, stageName)]);
  const stageConfig = createStageConfig({ config, stageName });
  const folder = join(outdir, "bundles");
  const writeBundle = createWriteBundle({ config: stageConfig, configDirectory, folder });
  const settings: StageSettings = { stageName, stage, config: stageConfig, writeBundle };

  const app = new App({ outdir, analyticsReporting: false, context: readCdkContext() });
  const { verification } = stage;
  const named = (zone: ZoneStack) => ({ stackName: formatStackName({ stageName, zone }) });
  const identity = new IdentityStack(app, "Identity", { ...named("Identity"), env: verification, stageName });
  const target = findExecutionTarget(stage);
  const execution =
    target &&
    new ExecutionStack(app, "Execution", {
      ...named("Execution"),
      env: target,
      settings,
      callerRoleArn: formatVerificationRoleArn({ stageName, account: verification.account, region: target.region }),
    });
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

/** Makes the synthesis fail for each finding of two cdk-nag packs. cdk.json makes CDK's own validation strict. */
export function addChecks(app: App): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
}

/** The feature flags of cdk.json, so that the app behaves the same under the CDK command line and in a test. */
function readCdkContext(): Record<string, unknown> {
  return JSON.parse(readFileSync(join(projectDirectory, "cdk.json"), "utf8")).context;
}

/** The role of the worker. Its own stack is deployed first, because IAM refuses a policy that names a role that does not exist. */
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
