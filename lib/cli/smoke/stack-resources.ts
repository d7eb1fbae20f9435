/** Reads from CloudFormation what the stacks of a stage contain: the names of alarms, log groups and functions. */
import { CloudFormationClient, paginateListStackResources } from "@aws-sdk/client-cloudformation";
import { callAws } from "../aws/aws-failure.ts";

export type StackResource = { type: string; logicalId: string; physicalId: string };

export async function stackResources({
  stackName,
  region,
  profile,
  signal,
}: {
  stackName: string;
  region: string;
  /** A profile of the AWS command line; the default credentials where absent. */
  profile?: string | undefined;
  signal: AbortSignal;
}): Promise<StackResource[]> {
  const client = new CloudFormationClient({ region, ...(profile !== undefined && { profile }) });
  try {
    return await callAws({
      doing: `list the resources of the stack ${stackName}`,
      signal,
      async call({ abortSignal }) {
        const found: StackResource[] = [];
        for await (const { StackResourceSummaries = [] } of paginateListStackResources(
          { client },
          { StackName: stackName },
          { abortSignal },
        )) {
          for (const { ResourceType = "", LogicalResourceId = "", PhysicalResourceId = "" } of StackResourceSummaries)
            found.push({ type: ResourceType, logicalId: LogicalResourceId, physicalId: PhysicalResourceId });
        }
        return found;
      },
    });
  } finally {
    client.destroy();
  }
}
