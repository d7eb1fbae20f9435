/** What a stack of a stage published about itself, by the names of its outputs. */
import { CloudFormationClient, DescribeStacksCommand } from "@aws-sdk/client-cloudformation";
import { stackNameOf } from "../../lib/names.ts";
import { AwsFailure, callAws, errorNameOf } from "./aws-failure.ts";

export type OutputsOfStack = {
  /** Undefined for one that a stack of an older version does not have. */
  find(name: string): string | undefined;
  /** Throws an AwsFailure with what to do where there is none. */
  require(name: string): string;
};

/** `where` is the stack's place for a person. Rejects with what to do where the stack is not deployed. */
export async function outputsOfStack({
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
  const stack = stackNameOf({ stageName, zone });
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
