/** Outputs by fixed names, by which the command line finds the resources of a stage. */
import { CfnOutput } from "aws-cdk-lib";
import type { Construct } from "constructs";

export function addOutput(scope: Construct, name: string, value: string): void {
  new CfnOutput(scope, name, { value }).overrideLogicalId(name);
}
