/** Lets a finding of cdk-nag stand, with the reason for which it does. */
import { Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/** Each finding on its own: `findings` are ids such as `AwsSolutions-APIG4`, with the part in brackets where there is one. */
export function acknowledge(construct: IConstruct, { findings, reason }: { findings: string[]; reason: string }): void {
  for (const id of findings) Validations.of(construct).acknowledge({ id, reason });
}
