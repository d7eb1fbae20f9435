/** Looks up whose credentials a command uses, and checks that they are of the account that a stage names. */
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { findExecutionTarget } from "../../../lambdas/shared/config/stage-config.ts";
import { type AwsCall, AwsFailure, callAws } from "./aws-failure.ts";
import type { StageCall } from "./stage.ts";

export async function callerIdentity({ region, signal }: AwsCall): Promise<{ account: string; arn: string }> {
  const sts = new STSClient({ region });
  const { Account = "unknown", Arn = "unknown" } = await callAws({
    doing: "ask AWS whose credentials these are",
    signal,
    call: (options) => sts.send(new GetCallerIdentityCommand({}), options),
  });
  return { account: Account, arn: Arn };
}

/** Rejects unless the credentials are of the Verification account. Only secrets are also written in the other account. */
export async function requireVerificationAccount({ stageName, stage, signal }: StageCall): Promise<void> {
  const { account, region } = stage.verification;
  const { account: actual } = await callerIdentity({ region, signal });
  if (actual === account) return;
  const ofExecution = findExecutionTarget(stage)?.account === actual ? ", the Execution zone's" : "";
  throw new AwsFailure(
    `Stage ${stageName} has its Verification zone in account ${account}, but these credentials are of ${actual}${ofExecution}. Set AWS_PROFILE to a profile of ${account}.`,
  );
}
