/** The role of the worker. Its own stack is deployed first, because IAM refuses a policy that names a role that does not exist. */
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";
import { formatRoleName } from "./names.ts";
import { checkPlacement } from "./placement.ts";
import type { StageSettings } from "./stage-settings.ts";

/** Must be deployed in the Verification account before the two zones. Throws a ConfigError if its stack is in another account. */
export class SekishoIdentity extends Construct {
  readonly role: Role;

  constructor(
    scope: Construct,
    id: string,
    { settings: { stageName, stage } }: { settings: Pick<StageSettings, "stageName" | "stage"> },
  ) {
    super(scope, id);
    checkPlacement(this, { zone: "Identity", stageName, account: stage.verification.account });
    this.role = new Role(this, "VerificationRole", {
      roleName: formatRoleName({ stageName, zone: "Verification" }),
      description: `The worker of the Verification zone of stage ${stageName}.`,
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
    });
  }
}
