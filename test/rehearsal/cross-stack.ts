/** References from one stack to the outputs of another: whether CloudFormation may look there when it deploys. */
import type { Authority } from "./iam/authority.ts";
import type { Assembly, Stack } from "./template/assembly.ts";
import type { Resolver } from "./template/resolve.ts";

/** CloudFormation deploys under the role that `cdk bootstrap` made, and takes on the one that the reference names. */
export function crossStackProblems({
  assembly,
  resolver,
  authority,
}: {
  assembly: Assembly;
  resolver: Resolver;
  authority: Authority;
}): string[] {
  return assembly.stacks.flatMap((reader) =>
    referencesIn(reader.template).flatMap((raw) => {
      const { StackName, OutputName, RoleArn } = resolver.resolve(raw, reader) as Record<string, unknown>;
      const owner = assembly.stacks.find(({ name }) => name === StackName);
      const what = `${reader.name} cannot read the output ${String(OutputName)} of ${String(StackName)}`;
      if (owner === undefined) return [`${what}: there is no such stack.`];
      if (RoleArn === undefined) return owner.account === reader.account ? [] : [`${what}: no role leads there.`];
      const why = refusal({ reader, owner, roleArn: String(RoleArn), authority });
      return why === undefined ? [] : [`${what}: ${why}.`];
    }),
  );
}

function refusal({
  reader,
  owner,
  roleArn,
  authority,
}: {
  reader: Stack;
  owner: Stack;
  roleArn: string;
  authority: Authority;
}): string | undefined {
  const { account, region } = reader;
  const deployer = `arn:aws:iam::${account}:role/cdk-hnb659fds-cfn-exec-role-${account}-${region}`;
  const stackArn = `arn:aws:cloudformation:${owner.region}:${owner.account}:stack/${owner.name}/0`;
  const steps = [
    { principal: { type: "role", arn: deployer, account }, action: "sts:AssumeRole", resource: roleArn },
    {
      principal: { type: "role", arn: roleArn, account: owner.account },
      action: "cloudformation:DescribeStacks",
      resource: stackArn,
    },
  ] as const;
  for (const { action, resource, principal } of steps) {
    const decision = authority.check({ principal, action, resource, context: {} });
    if (!decision.allowed) return `${principal.arn} may not ${action} on ${resource}: ${decision.why}`;
  }
  return undefined;
}

function referencesIn(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if ("Fn::GetStackOutput" in value) return [value["Fn::GetStackOutput"]];
  return Object.values(value).flatMap(referencesIn);
}
