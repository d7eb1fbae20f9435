/** Lets a finding of cdk-nag stand, with the reason for which it does. */
import { Stack, Token, Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** How a finding names the partition of a stack: as it is, or as the reference where only AWS knows it. */
export function shownPartition(construct: IConstruct): string {
  const { partition } = Stack.of(construct);
  return Token.isUnresolved(partition) ? "<AWS::Partition>" : partition;
}

/** Each finding on its own: `findings` are ids such as `AwsSolutions-APIG4`, with the part in brackets where there is one. */
export function acknowledge(construct: IConstruct, { findings, reason }: { findings: string[]; reason: string }): void {
  for (const id of findings) Validations.of(construct).acknowledge({ id, reason });
}
