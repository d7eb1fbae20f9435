/** What the Execution stack of a stage published about itself. */
import { CloudFormationClient, DescribeStacksCommand } from "@aws-sdk/client-cloudformation";
import { executionOutputs, stackNameOf } from "../../lib/names.ts";
import { AwsFailure, callAws, errorNameOf } from "./aws-failure.ts";
import type { NamedStage } from "./stage.ts";

/** The name of its task table. Rejects with what to do where the stack is not deployed, or an older one. */
export async function readExecutionTable({
  stageName,
  region,
  signal,
}: Pick<NamedStage, "stageName"> & { region: string; signal: AbortSignal }): Promise<string> {
  const stack = stackNameOf({ stageName, zone: "Execution" });
  const cloudFormation = new CloudFormationClient({ region });
  const toDeploy = `Run npx cdk deploy --all -c stage=${stageName}.`;
  const { Stacks = [] } = await callAws({
    doing: `read the outputs of the stack ${stack}`,
    signal,
    call: (options) => cloudFormation.send(new DescribeStacksCommand({ StackName: stack }), options),
  }).catch((thrown) => {
    if (errorNameOf(thrown) !== "ValidationError") throw thrown;
    throw new AwsFailure(`There is no stack ${stack} in ${region}. ${toDeploy}`);
  });
  const output = Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === executionOutputs.tableName);
  if (output?.OutputValue) return output.OutputValue;
  throw new AwsFailure(`The stack ${stack} has no output ${executionOutputs.tableName}. ${toDeploy}`);
}
