/** Looks up whose credentials a command uses, and checks that they belong to the account of a stage. */
import { GetCallerIdentityCommand, STSClient } from "@aws-sdk/client-sts";
import { findExecutionTarget } from "@sekisho/config/stage-config.ts";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import { type AwsCall, AwsFailure, callAws } from "./aws-failure.ts";
import type { StageCall } from "./stage.ts";

export async function callerIdentity({
  region,
  signal,
}: AwsCall): Promise<{ account: string; arn: string }> {
  const sts = new STSClient({ region, customUserAgent: sdkUserAgent });
  const { Account = "unknown", Arn = "unknown" } = await callAws({
    doing: "look up the owner of the AWS credentials",
    signal,
    call: (options) => sts.send(new GetCallerIdentityCommand({}), options),
  });
  return { account: Account, arn: Arn };
}

/** Rejects unless the credentials belong to the Verification account. */
export async function requireVerificationAccount({
  stageName,
  stage,
  signal,
}: StageCall): Promise<void> {
  const { account, region } = stage.verification;
  const { account: actual } = await callerIdentity({ region, signal });
  if (actual === account) return;
  const ofExecution =
    findExecutionTarget(stage)?.account === actual ? ", the Execution zone's" : "";
  throw new AwsFailure(
    `The Verification zone of stage ${stageName} is in account ${account}, but these credentials are of ${actual}${ofExecution}. Set AWS_PROFILE to a profile of ${account}.`,
  );
}
