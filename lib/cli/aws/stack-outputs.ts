/** Reads the outputs of a stage's stacks. */
import { CloudFormationClient, DescribeStacksCommand } from "@aws-sdk/client-cloudformation";
import { executionOutputs, formatStackName, verificationOutputs } from "@sekisho/cdk/names.ts";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import { requireVerificationAccount } from "./account.ts";
import { type AwsCall, AwsFailure, callAws, errorNameOf } from "./aws-failure.ts";
import type { StageCall } from "./stage.ts";

export type StackOutputs = Record<keyof typeof verificationOutputs, string>;

/** Older versions deployed stacks without these outputs. */
const optionalOutputs: readonly string[] = [
  verificationOutputs.filesBucket,
  verificationOutputs.workerFunction,
  verificationOutputs.formerLiveSettings,
];

/** Rejects with an AwsFailure if the credentials are of another account, or the stack is not deployed. */
export async function readStackOutputs({
  stageName,
  stage,
  signal,
}: StageCall): Promise<StackOutputs> {
  await requireVerificationAccount({ stageName, stage, signal });
  const { account, region } = stage.verification;
  const where = `account ${account}, ${region}`;
  const requireOutput = await readStack({ stageName, zone: "Verification", region, where, signal });
  const entries = Object.entries(verificationOutputs).map(([key, name]) => [
    key,
    requireOutput(name),
  ]);
  return Object.fromEntries(entries);
}

/** Reads the name of the Execution zone's task table. Rejects with an AwsFailure if the stack is not deployed. */
export async function readExecutionTable({
  stageName,
  region,
  signal,
}: AwsCall & { stageName: string }) {
  const requireOutput = await readStack({
    stageName,
    zone: "Execution",
    region,
    where: region,
    signal,
  });
  return requireOutput(executionOutputs.tableName);
}

type StackRequest = AwsCall & {
  stageName: string;
  zone: "Verification" | "Execution";
  /** The stack's account and region, as text for a person. */
  where: string;
};

/** Resolves to a function that returns an output by its name, and throws an AwsFailure where it is missing. */
async function readStack({
  stageName,
  zone,
  region,
  where,
  signal,
}: StackRequest): Promise<(name: string) => string> {
  const stack = formatStackName({ stageName, zone });
  const cloudFormation = new CloudFormationClient({ region, customUserAgent: sdkUserAgent });
  const toDeploy = `Run npx cdk deploy --all -c stage=${stageName}.`;
  const { Stacks = [] } = await callAws({
    doing: `read the outputs of the stack ${stack}`,
    signal,
    call: (options) =>
      cloudFormation.send(new DescribeStacksCommand({ StackName: stack }), options),
  }).catch((error) => {
    if (errorNameOf(error) !== "ValidationError") throw error;
    throw new AwsFailure(`There is no stack ${stack} in ${where}. ${toDeploy}`);
  });
  const values = new Map(
    Stacks[0]?.Outputs?.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]),
  );
  return (name) => {
    const value = values.get(name);
    if (value) return value;
    if (optionalOutputs.includes(name)) return "";
    throw new AwsFailure(`The stack ${stack} has no output ${name}. ${toDeploy}`);
  };
}
