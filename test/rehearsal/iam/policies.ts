/** All policies of the templates: those of roles, and those that resources carry themselves. */
import type { Resolver, Resource } from "../template/resolve.ts";
import { parsePolicy, type Statement } from "./policy.ts";

export type Policies = {
  ofRole(roleArn: string): readonly Statement[];
  /** Who may take the role on. */
  trustOf(roleArn: string): readonly Statement[];
  ofResource(resourceArn: string): readonly Statement[];
  all(): readonly Statement[];
};

/** Under which CloudFormation deploys; `cdk bootstrap` makes it, with these rights unless told otherwise. */
const bootstrapRole = /:role\/cdk-[a-z0-9]+-cfn-exec-role-/;
const administrator = parsePolicy({
  document: { Statement: { Effect: "Allow", Action: "*", Resource: "*" } },
  source: "cdk bootstrap",
});

type Documents = Map<string, Statement[]>;

/**
 * `trusts` are the trust policies of roles that are in no template, by ARN, and `roles` what such roles may do. Throws where a role has a policy that is not in
 * the templates: nobody could check what that allows.
 */
export function collectPolicies({
  resolver,
  trusts = {},
  roles = {},
}: {
  resolver: Resolver;
  trusts?: Record<string, unknown>;
  roles?: Record<string, unknown>;
}): Policies {
  const ofRoles: Documents = new Map();
  const trust: Documents = new Map();
  const ofResources: Documents = new Map();

  for (const [arn, document] of Object.entries(trusts)) add(trust, arn, { label: arn }, document, "*");
  const foreign = Object.entries(roles).map(
    ([arn, document]) => [arn, parsePolicy({ document, source: arn })] as const,
  );
  const ofForeignRoles: ReadonlyMap<string, Statement[]> = new Map(foreign);
  const roleArns = new Map<string, string>();
  for (const role of resolver.resources("AWS::IAM::Role")) {
    const arn = role.arn;
    roleArns.set(`${role.stack.account}/${role.ref}`, arn);
    if (listOf(role.properties.ManagedPolicyArns).length > 0)
      throw new Error(`${role.label} has managed policies, whose statements the templates do not show.`);
    add(trust, arn, role, role.properties.AssumeRolePolicyDocument, "*");
    for (const { PolicyDocument } of recordsOf(role.properties.Policies)) add(ofRoles, arn, role, PolicyDocument);
  }
  for (const type of ["AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy"])
    for (const policy of resolver.resources(type))
      for (const role of [...listOf(policy.properties.Roles), ...listOf(policy.properties.RoleName)]) {
        const arn = roleArns.get(`${policy.stack.account}/${String(role)}`);
        if (arn === undefined)
          throw new Error(`${policy.label} is for the role ${String(role)}, which is in no template.`);
        add(ofRoles, arn, policy, policy.properties.PolicyDocument);
      }

  for (const key of resolver.resources("AWS::KMS::Key")) add(ofResources, key.arn, key, key.properties.KeyPolicy);
  const queueArns = new Map(resolver.resources("AWS::SQS::Queue").map((queue) => [queue.ref, queue.arn]));
  for (const policy of resolver.resources("AWS::SQS::QueuePolicy"))
    for (const url of listOf(policy.properties.Queues))
      add(ofResources, queueArns.get(String(url)) ?? String(url), policy, policy.properties.PolicyDocument);
  for (const policy of resolver.resources("AWS::SNS::TopicPolicy"))
    for (const topic of listOf(policy.properties.Topics))
      add(ofResources, String(topic), policy, policy.properties.PolicyDocument);
  const bucketArns = new Map(resolver.resources("AWS::S3::Bucket").map((bucket) => [bucket.ref, bucket.arn]));
  for (const policy of resolver.resources("AWS::S3::BucketPolicy")) {
    const name = String(policy.properties.Bucket);
    add(ofResources, bucketArns.get(name) ?? name, policy, policy.properties.PolicyDocument);
  }
  for (const policy of resolver.resources("AWS::BedrockAgentCore::ResourcePolicy")) {
    const document: unknown = JSON.parse(String(policy.properties.Policy));
    add(ofResources, String(policy.properties.ResourceArn), policy, document);
  }
  const functionArns = new Map(resolver.resources("AWS::Lambda::Function").map((fn) => [fn.ref, fn.arn]));
  for (const permission of resolver.resources("AWS::Lambda::Permission")) {
    const name = String(permission.properties.FunctionName);
    const arn = functionArns.get(name) ?? name;
    add(ofResources, arn, permission, { Statement: [lambdaStatement(permission, arn)] });
  }

  return {
    ofRole: (arn) => ofRoles.get(arn) ?? ofForeignRoles.get(arn) ?? (bootstrapRole.test(arn) ? administrator : []),
    trustOf: (arn) => trust.get(arn) ?? [],
    ofResource: (arn) => ofResources.get(policyHolder(arn)) ?? [],
    all: () => [...ofRoles.values(), ...ofResources.values()].flat(),
  };
}

/** An object has no policy but its bucket's. */
function policyHolder(arn: string): string {
  return arn.startsWith("arn:aws:s3:::") ? (arn.split("/")[0] ?? arn) : arn;
}

/** `resource` where the document itself names none, as trust policies do not. */
function add(
  documents: Documents,
  arn: string,
  from: Pick<Resource, "label">,
  document: unknown,
  resource?: string,
): void {
  const statements = parsePolicy({ document, source: from.label });
  const complete = statements.map((statement) =>
    resource === undefined ? statement : { ...statement, resources: [resource] },
  );
  documents.set(arn, [...(documents.get(arn) ?? []), ...complete]);
}

const permissionFields = new Set([
  "Action",
  "FunctionName",
  "FunctionUrlAuthType",
  "InvokedViaFunctionUrl",
  "Principal",
  "SourceAccount",
  "SourceArn",
]);

function lambdaStatement({ label, properties }: Resource, arn: string): unknown {
  const unknown = Object.keys(properties).filter((field) => !permissionFields.has(field));
  if (unknown.length > 0) throw new Error(`${label} has ${unknown.join(", ")}, which the rehearsal does not know.`);
  const { Action, Principal, SourceArn, SourceAccount, FunctionUrlAuthType, InvokedViaFunctionUrl } = properties;
  const principal = String(Principal);
  return {
    Effect: "Allow",
    Action,
    Resource: arn,
    Principal: principal.endsWith(".amazonaws.com") ? { Service: principal } : { AWS: principal },
    Condition: {
      ...(SourceArn === undefined ? {} : { ArnLike: { "aws:SourceArn": SourceArn } }),
      ...(SourceAccount === undefined ? {} : { StringEquals: { "aws:SourceAccount": SourceAccount } }),
      ...(FunctionUrlAuthType === undefined
        ? {}
        : { StringEquals: { "lambda:FunctionUrlAuthType": FunctionUrlAuthType } }),
      ...(InvokedViaFunctionUrl === undefined
        ? {}
        : { Bool: { "lambda:InvokedViaFunctionUrl": InvokedViaFunctionUrl } }),
    },
  };
}

function recordsOf(value: unknown): Record<string, unknown>[] {
  return listOf(value) as Record<string, unknown>[];
}

function listOf(value: unknown): unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}
