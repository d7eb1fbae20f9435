/** The role of the functions that call the Execution zone: known by its name, and there before any policy names it. */
import { Stack, type StackProps } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";
import { roleNameOf } from "./names.ts";

export class IdentityStack extends Stack {
  constructor(scope: Construct, id: string, { stageName, ...props }: StackProps & { stageName: string }) {
    super(scope, id, props);
    new Role(this, "VerificationRole", {
      roleName: roleNameOf({ stageName, zone: "Verification" }),
      description: `The Verification zone of stage ${stageName}: its worker and its handler of dead letters.`,
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
    });
  }
}
