/** What the Verification stack of a stage published about itself. */
import { CloudFormationClient, DescribeStacksCommand } from "@aws-sdk/client-cloudformation";
import { stackNameOf, verificationOutputs } from "../../lib/names.ts";
import { requireVerificationAccount } from "./account.ts";
import { AwsFailure, callAws, errorNameOf } from "./aws-failure.ts";
import type { NamedStage } from "./stage.ts";

type OutputName = keyof typeof verificationOutputs;
export type StackOutputs = Record<OutputName, string>;

/** Rejects with what to do where the credentials are of another account, or the stack is not deployed or an older one. */
export async function readStackOutputs({
  stageName,
  stage,
  signal,
}: NamedStage & { signal: AbortSignal }): Promise<StackOutputs> {
  await requireVerificationAccount({ stageName, stage, signal });
  const { account, region } = stage.verification;
  const stack = stackNameOf({ stageName, zone: "Verification" });
  const cloudFormation = new CloudFormationClient({ region });
  const toDeploy = `Run npx cdk deploy --all -c stage=${stageName}.`;
  const { Stacks = [] } = await callAws({
    doing: `read the outputs of the stack ${stack}`,
    signal,
    call: (options) => cloudFormation.send(new DescribeStacksCommand({ StackName: stack }), options),
  }).catch((thrown) => {
    if (errorNameOf(thrown) !== "ValidationError") throw thrown;
    throw new AwsFailure(`There is no stack ${stack} in account ${account}, ${region}. ${toDeploy}`);
  });
  const values = new Map(Stacks[0]?.Outputs?.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
  const output = (name: OutputName): string => {
    const value = values.get(verificationOutputs[name]);
    if (value) return value;
    throw new AwsFailure(`The stack ${stack} has no output ${verificationOutputs[name]}. ${toDeploy}`);
  };
  return {
    eventsUrl: output("eventsUrl"),
    queueUrl: output("queueUrl"),
    deadLettersUrl: output("deadLettersUrl"),
    tableName: output("tableName"),
    routesParameter: output("routesParameter"),
    deployedDestinations: output("deployedDestinations"),
    // Of a stack that was deployed before it had this output.
    executionAddress: values.get(verificationOutputs.executionAddress) ?? "null",
    filesBucket: values.get(verificationOutputs.filesBucket) ?? "",
  };
}
