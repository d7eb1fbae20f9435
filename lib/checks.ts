/** What a template must pass, or the synth fails: two packs of cdk-nag, beside CDK's own validation, which cdk.json makes strict. */
import { type App, Validations } from "aws-cdk-lib";
import { AwsSolutionsChecks, ServerlessChecks } from "cdk-nag";

export function addChecks(app: App): void {
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app), new ServerlessChecks(app));
}
