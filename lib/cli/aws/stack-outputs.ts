/** What the Verification stack of a stage published about itself. */

import { CloudFormationClient, DescribeStacksCommand } from "@aws-sdk/client-cloudformation";
import { executionOutputs, formatStackName, verificationOutputs } from "../../cdk/names.ts";
import { requireVerificationAccount } from "./account.ts";
import { AwsFailure, callAws, errorNameOf } from "./aws-failure.ts";
import type { NamedStage } from "./stage.ts";

export type StackOutputs = Record<keyof typeof verificationOutputs, string>;

/** Rejects with what to do where the credentials are of another account, or the stack is not deployed. */
export async function readStackOutputs({
  stageName,
  stage,
  signal,
}: NamedStage & { signal: AbortSignal }): Promise<StackOutputs> {
  await requireVerificationAccount({ stageName, stage, signal });
  const { account, region } = stage.verification;
  const where = `account ${account}, ${region}`;
  const outputs = await outputsOfStack({ stageName, zone: "Verification", region, where, signal });
  return {
    eventsUrl: outputs.require(verificationOutputs.eventsUrl),
    queueUrl: outputs.require(verificationOutputs.queueUrl),
    deadLettersUrl: outputs.require(verificationOutputs.deadLettersUrl),
    tableName: outputs.require(verificationOutputs.tableName),
    routesParameter: outputs.require(verificationOutputs.routesParameter),
    deployedDestinations: outputs.require(verificationOutputs.deployedDestinations),
    executionAddress: outputs.require(verificationOutputs.executionAddress),
    filesBucket: outputs.find(verificationOutputs.filesBucket) ?? "",
    workerFunction: outputs.find(verificationOutputs.workerFunction) ?? "",
  };
}

// What a stack of a stage published about itself, by the names of its outputs.

export type OutputsOfStack = {
  /** Undefined where it has none. */
  find(name: string): string | undefined;
  /** Throws an AwsFailure with what to do where there is none. */
  require(name: string): string;
};

/** `where` is the stack's place for a person. Rejects with what to do where the stack is not deployed. */
async function outputsOfStack({
  stageName,
  zone,
  region,
  where,
  signal,
}: {
  stageName: string;
  zone: "Verification" | "Execution";
  region: string;
  where: string;
  signal: AbortSignal;
}): Promise<OutputsOfStack> {
  const stack = formatStackName({ stageName, zone });
  const cloudFormation = new CloudFormationClient({ region });
  const toDeploy = `Run npx cdk deploy --all -c stage=${stageName}.`;
  const { Stacks = [] } = await callAws({
    doing: `read the outputs of the stack ${stack}`,
    signal,
    call: (options) => cloudFormation.send(new DescribeStacksCommand({ StackName: stack }), options),
  }).catch((thrown) => {
    if (errorNameOf(thrown) !== "ValidationError") throw thrown;
    throw new AwsFailure(`There is no stack ${stack} in ${where}. ${toDeploy}`);
  });
  const values = new Map(Stacks[0]?.Outputs?.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
  return {
    find: (name) => values.get(name),
    require(name) {
      const value = values.get(name);
      if (value) return value;
      throw new AwsFailure(`The stack ${stack} has no output ${name}. ${toDeploy}`);
    },
  };
}

// What the Execution stack of a stage published about itself.

/** The name of its task table. Rejects with what to do where the stack is not deployed. */
export async function readExecutionTable({
  stageName,
  region,
  signal,
}: Pick<NamedStage, "stageName"> & { region: string; signal: AbortSignal }): Promise<string> {
  const outputs = await outputsOfStack({ stageName, zone: "Execution", region, where: region, signal });
  return outputs.require(executionOutputs.tableName);
}
