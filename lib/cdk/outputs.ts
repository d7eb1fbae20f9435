/** Outputs of stacks: those by which the command line finds the resources of a stage, and who may read them from another account. */
import { CfnOutput, Fn, Names, type Stack } from "aws-cdk-lib";
import { CfnRole } from "aws-cdk-lib/aws-iam";
import { Construct } from "constructs";

export function addOutput(scope: Construct, name: string, value: string): void {
  new CfnOutput(scope, name, { value }).overrideLogicalId(name);
}

/**
 * Makes the role by which CloudFormation reads the outputs of `producer` for a stack of another account. CDK would make it while it
 * resolves references, which is after it has applied tags and permissions boundaries. It would also name CloudFormation's role as the
 * principal, which is stored by the role's id, so a role of that name from a new bootstrap would have no access. CDK takes the role
 * that it finds at its own path.
 */
export function permitOutputReads({
  producer,
  consumer,
}: {
  producer: Stack;
  consumer: Stack;
}): void {
  const reader = consumer.synthesizer.cloudFormationExecutionRole;
  // CDK itself refuses such a reference where the consumer has no such role.
  if (producer.account === consumer.account || reader === undefined) return;
  const role = new CfnRole(new Construct(producer, "Publish"), "GetStackOutputRole", {
    assumeRolePolicyDocument: {
      Version: "2012-10-17",
      Statement: [
        {
          Effect: "Allow",
          Principal: { AWS: `arn:${consumer.partition}:iam::${consumer.account}:root` },
          Action: "sts:AssumeRole",
          Condition: { ArnEquals: { "aws:PrincipalArn": Fn.sub(reader) } },
        },
      ],
    },
  });
  role.roleName = Names.uniqueResourceName(role, { maxLength: 64 });
}
