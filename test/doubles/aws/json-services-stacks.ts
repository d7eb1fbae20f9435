/** CloudFormation's DescribeStacks. */
import { escapeXml, xml, xmlError } from "./json-services-wire.ts";

/** By stack name: its outputs. */
export type Stacks = Map<string, Record<string, string>>;

export function describeStacks({ stacks, stack }: { stacks: Stacks; stack: string }): Response {
  const outputs = stacks.get(stack);
  if (outputs === undefined) {
    const message = `Stack with id ${stack} does not exist`;
    return xmlError({ status: 400, name: "ValidationError", message });
  }
  const members = Object.entries(outputs).map(
    ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${escapeXml(value)}</OutputValue></member>`,
  );
  const status = "<StackStatus>CREATE_COMPLETE</StackStatus><CreationTime>2026-11-01T00:00:00Z</CreationTime>";
  const result = `<Stacks><member><StackName>${stack}</StackName>${status}<Outputs>${members.join("")}</Outputs></member></Stacks>`;
  return xml({ action: "DescribeStacks", result });
}
