/** CloudFormation's DescribeStacks and ListStackResources: what the templates have, with addresses as they are here. */
import { escapeXml } from "../../doubles/aws/json-services-wire.ts";
import type { Assembly } from "../template/assembly.ts";
import type { Resolver } from "../template/resolve.ts";
import type { Backend } from "./gateway.ts";

export function stacksBackend({
  assembly,
  resolver,
  moved,
}: {
  assembly: Assembly;
  resolver: Resolver;
  /** An address of a template, as it is here. */
  moved: (text: string) => string;
}): Backend {
  /** Those that an operator's commands look for. */
  function resourcesOf(stackName: string): string {
    const listed = ["AWS::CloudWatch::Alarm", "AWS::Logs::LogGroup", "AWS::Lambda::Function"].flatMap((type) =>
      resolver.resources(type),
    );
    const members = listed
      .filter(({ stack }) => stack.name === stackName)
      .map((resource) => {
        const ids = `<LogicalResourceId>${resource.logicalId}</LogicalResourceId><PhysicalResourceId>${escapeXml(resolver.ref(resource))}</PhysicalResourceId>`;
        const times = "<LastUpdatedTimestamp>2026-11-01T00:00:00Z</LastUpdatedTimestamp>";
        return `<member>${ids}<ResourceType>${resource.type}</ResourceType>${times}<ResourceStatus>CREATE_COMPLETE</ResourceStatus></member>`;
      });
    const list = `<StackResourceSummaries>${members.join("")}</StackResourceSummaries>`;
    return `<ListStackResourcesResponse><ListStackResourcesResult>${list}</ListStackResourcesResult></ListStackResourcesResponse>`;
  }

  return async ({ call: { action, input }, caller }) => {
    const stack = assembly.stacks.find(({ name, account }) => name === input.StackName && account === caller.account);
    if (stack === undefined) {
      const error = "<Error><Type>Sender</Type><Code>ValidationError</Code><Message>none</Message></Error>";
      return xml(`<ErrorResponse>${error}<RequestId>r</RequestId></ErrorResponse>`, 400);
    }
    if (action === "cloudformation:ListStackResources") return xml(resourcesOf(stack.name), 200);
    const members = Object.keys(stack.template.Outputs ?? {}).map((name) => {
      const value = escapeXml(moved(resolver.output({ stackName: stack.name, name })));
      return `<member><OutputKey>${name}</OutputKey><OutputValue>${value}</OutputValue></member>`;
    });
    const facts = `<StackName>${stack.name}</StackName><StackStatus>CREATE_COMPLETE</StackStatus>`;
    const times = "<CreationTime>2026-11-01T00:00:00Z</CreationTime>";
    const result = `<Stacks><member>${facts}${times}<Outputs>${members.join("")}</Outputs></member></Stacks>`;
    return xml(
      `<DescribeStacksResponse><DescribeStacksResult>${result}</DescribeStacksResult></DescribeStacksResponse>`,
      200,
    );
  };
}

function xml(body: string, status: number): Response {
  return new Response(body, { status, headers: { "content-type": "text/xml" } });
}
