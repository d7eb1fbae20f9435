/** All policies of the templates: those of roles, and those of resources. */
import type { Resolver, Resource } from "../template/resolve.ts";
import { parsePolicy, type Statement } from "./policy.ts";

export type Policies = {
  ofRole(roleArn: string): readonly Statement[];
  /** Returns who may assume the role. */
  trustOf(roleArn: string): readonly Statement[];
  ofResource(resourceArn: string): readonly Statement[];
  all(): readonly Statement[];
};

/** CloudFormation deploys under this role of `cdk bootstrap`, which has all rights by default. */
const bootstrapRole = /:role\/cdk-[a-z0-9]+-cfn-exec-role-/;
const administrator = parsePolicy({
  document: { Statement: { Effect: "Allow", Action: "*", Resource: "*" } },
  source: "cdk bootstrap",
});

type Documents = Map<string, Statement[]>;

/**
 * `trusts` and `roles` are the trust policies and the policies of roles that are in no template, by ARN. Throws for a managed policy,
 * because the templates do not show its statements.
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

  for (const [arn, document] of Object.entries(trusts))
    add(trust, arn, { label: arn }, document, "*");
  const foreign = Object.entries(roles).map(
    ([arn, document]) => [arn, parsePolicy({ document, source: arn })] as const,
  );
  const ofForeignRoles: ReadonlyMap<string, Statement[]> = new Map(foreign);
  const roleArns = new Map<string, string>();
  for (const role of resolver.resources("AWS::IAM::Role")) {
    const arn = role.arn;
    roleArns.set(`${role.stack.account}/${role.ref}`, arn);
    if (listOf(role.properties.ManagedPolicyArns).length > 0)
      throw new Error(
        `${role.label} has managed policies, whose statements the templates do not show.`,
      );
    add(trust, arn, role, role.properties.AssumeRolePolicyDocument, "*");
    for (const { PolicyDocument } of recordsOf(role.properties.Policies))
      add(ofRoles, arn, role, PolicyDocument);
  }
  for (const type of ["AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy"])
    for (const policy of resolver.resources(type))
      for (const role of [
        ...listOf(policy.properties.Roles),
        ...listOf(policy.properties.RoleName),
      ]) {
        const arn = roleArns.get(`${policy.stack.account}/${String(role)}`);
        if (arn === undefined)
          throw new Error(
            `${policy.label} is for the role ${String(role)}, which is in no template.`,
          );
        add(ofRoles, arn, policy, policy.properties.PolicyDocument);
      }

  /** Policies may name the resource by its Ref. */
  const arnOf = (type: string, ref: unknown) =>
    resolver.resources(type).find((resource) => resource.ref === ref)?.arn ?? String(ref);
  for (const key of resolver.resources("AWS::KMS::Key"))
    add(ofResources, key.arn, key, key.properties.KeyPolicy);
  for (const policy of resolver.resources("AWS::SQS::QueuePolicy"))
    for (const url of listOf(policy.properties.Queues))
      add(ofResources, arnOf("AWS::SQS::Queue", url), policy, policy.properties.PolicyDocument);
  for (const policy of resolver.resources("AWS::SNS::TopicPolicy"))
    for (const topic of listOf(policy.properties.Topics))
      add(ofResources, String(topic), policy, policy.properties.PolicyDocument);
  for (const policy of resolver.resources("AWS::S3::BucketPolicy"))
    add(
      ofResources,
      arnOf("AWS::S3::Bucket", policy.properties.Bucket),
      policy,
      policy.properties.PolicyDocument,
    );
  for (const policy of resolver.resources("AWS::BedrockAgentCore::ResourcePolicy")) {
    const document: unknown = JSON.parse(String(policy.properties.Policy));
    add(ofResources, String(policy.properties.ResourceArn), policy, document);
  }
  for (const permission of resolver.resources("AWS::Lambda::Permission")) {
    const arn = arnOf("AWS::Lambda::Function", permission.properties.FunctionName);
    add(ofResources, arn, permission, { Statement: [lambdaStatement(permission, arn)] });
  }

  return {
    ofRole: (arn) =>
      ofRoles.get(arn) ?? ofForeignRoles.get(arn) ?? (bootstrapRole.test(arn) ? administrator : []),
    trustOf: (arn) => trust.get(arn) ?? [],
    ofResource: (arn) => ofResources.get(policyHolder(arn)) ?? [],
    all: () => [...ofRoles.values(), ...ofResources.values()].flat(),
  };
}

/** An object has its bucket's policy. */
function policyHolder(arn: string): string {
  return arn.startsWith("arn:aws:s3:::") ? (arn.split("/")[0] ?? arn) : arn;
}

/** `resource` replaces the resources of a document that names none, such as a trust policy. */
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
  if (unknown.length > 0)
    throw new Error(`${label} has ${unknown.join(", ")}, which the rehearsal does not know.`);
  const {
    Action,
    Principal,
    SourceArn,
    SourceAccount,
    FunctionUrlAuthType,
    InvokedViaFunctionUrl,
  } = properties;
  const principal = String(Principal);
  return {
    Effect: "Allow",
    Action,
    Resource: arn,
    Principal: principal.endsWith(".amazonaws.com") ? { Service: principal } : { AWS: principal },
    Condition: {
      ...(SourceArn !== undefined && { ArnLike: { "aws:SourceArn": SourceArn } }),
      ...(SourceAccount !== undefined && { StringEquals: { "aws:SourceAccount": SourceAccount } }),
      ...(FunctionUrlAuthType !== undefined && {
        StringEquals: { "lambda:FunctionUrlAuthType": FunctionUrlAuthType },
      }),
      ...(InvokedViaFunctionUrl !== undefined && {
        Bool: { "lambda:InvokedViaFunctionUrl": InvokedViaFunctionUrl },
      }),
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
