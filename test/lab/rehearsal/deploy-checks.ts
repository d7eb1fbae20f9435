/** Finds in the templates alone what AWS would refuse at the deploy or at the start, and broken wiring. */
import { keyArn } from "./aws/implied.ts";
import type { Authority } from "./iam/authority.ts";
import type { Policies } from "./iam/policies.ts";
import { newAccountLimit } from "./lambda/concurrency.ts";
import { a2aClient } from "./synthesized.ts";
import type { Assembly, Stack } from "./template/assembly.ts";
import type { Resolver, Resource } from "./template/resolve.ts";
import {
  type AgentRuntime,
  type EventSource,
  type LambdaFunction,
  record,
  visibilityMsOf,
} from "./template/wiring.ts";

type Judged = { resolver: Resolver; authority: Authority };

/** AWS refuses a visibility timeout below the function's timeout, and advises this many times as much. */
const timeoutsInVisibility = 6;

export function wiringProblems({
  resolver,
  policies,
  functions,
  sources,
}: {
  resolver: Resolver;
  policies: Policies;
  functions: readonly LambdaFunction[];
  sources: readonly EventSource[];
}): string[] {
  return [
    ...sources.flatMap(({ label, queueArn, functionArn }) => {
      const queue = resolver.byArn("AWS::SQS::Queue", queueArn);
      const fn = functions.find(({ arn }) => arn === functionArn);
      if (queue === undefined || fn === undefined)
        return [`${label} joins a queue and a function that are not there.`];
      const [visibility, least] = [
        visibilityMsOf(queue) / 1000,
        (timeoutsInVisibility * fn.timeoutMs) / 1000,
      ];
      if (visibility >= least) return [];
      return [
        `${queue.label}: its VisibilityTimeout of ${visibility} s is below ${least} s, six times the time-out of ${fn.label}.`,
      ];
    }),
    ...unknownPrincipals({ resolver, policies }),
    ...functions
      .filter(({ runtime }) => runtime !== "nodejs24.x")
      .map(({ label, runtime }) => `${label} runs on ${runtime} instead of nodejs24.x.`),
  ];
}

/** AWS refuses a policy whose principal does not exist. A condition on such a role lets nobody in. */
function unknownPrincipals({
  resolver,
  policies,
}: {
  resolver: Resolver;
  policies: Policies;
}): string[] {
  const own = resolver.resources("AWS::IAM::Role").map(({ arn }) => arn);
  const roles = new Set([...own, a2aClient.roleArn]);
  return policies.all().flatMap(({ principals, conditions, source }) => {
    const ofConditions = conditions.filter(({ key }) => key.toLowerCase() === "aws:principalarn");
    return [...(principals?.aws ?? []), ...ofConditions.flatMap(({ values }) => values)]
      .filter((arn) => arn.includes(":role/") && !roles.has(arn))
      .map((arn) => `${source} names the principal ${arn}, which no template creates.`);
  });
}

/** PutFunctionConcurrency fails where it would leave fewer: https://docs.aws.amazon.com/lambda/latest/api/API_PutFunctionConcurrency.html */
const leastUnreserved = 100;

export function reservationProblems({
  functions,
  limit = newAccountLimit,
}: {
  functions: readonly LambdaFunction[];
  limit?: number;
}): string[] {
  return functions.flatMap(({ label, account, reservedConcurrency: own }) => {
    const inAccount = functions.filter((fn) => fn.account === account);
    const all = inAccount.reduce((sum, fn) => sum + (fn.reservedConcurrency ?? 0), 0);
    if (own === undefined || limit - all >= leastUnreserved) return [];
    return [
      `${label} reserves a concurrency of ${own}: an account with a limit of ${limit} would have less than ${leastUnreserved} unreserved.`,
    ];
  });
}

/**
 * Checks references to outputs of another stack. CloudFormation deploys under the role that `cdk bootstrap` made, and assumes the
 * role that the reference names.
 */
export function crossStackProblems({
  assembly,
  resolver,
  authority,
}: Judged & { assembly: Assembly }): string[] {
  return assembly.stacks.flatMap((reader) =>
    referencesIn(reader.template).flatMap((raw) => {
      const { StackName, OutputName, RoleArn } = resolver.resolve(raw, reader) as Record<
        string,
        unknown
      >;
      const owner = assembly.stacks.find(({ name }) => name === StackName);
      const what = `${reader.name} cannot read the output ${String(OutputName)} of ${String(StackName)}`;
      if (owner === undefined) return [`${what}: there is no such stack.`];
      if (RoleArn === undefined)
        return owner.account === reader.account ? [] : [`${what}: no role leads there.`];
      const why = readRefusal({ reader, owner, roleArn: String(RoleArn), authority });
      return why === undefined ? [] : [`${what}: ${why}.`];
    }),
  );
}

function readRefusal({
  reader: { account, region },
  owner,
  roleArn,
  authority,
}: {
  reader: Stack;
  owner: Stack;
  roleArn: string;
  authority: Authority;
}): string | undefined {
  const deployer = `arn:aws:iam::${account}:role/cdk-hnb659fds-cfn-exec-role-${account}-${region}`;
  const stackArn = `arn:aws:cloudformation:${owner.region}:${owner.account}:stack/${owner.name}/0`;
  const [assume, readSettings] = [
    { arn: deployer, account, action: "sts:AssumeRole", resource: roleArn },
    {
      arn: roleArn,
      account: owner.account,
      action: "cloudformation:DescribeStacks",
      resource: stackArn,
    },
  ];
  for (const { arn, account: from, action, resource } of [assume, readSettings]) {
    const principal = { type: "role", arn, account: from } as const;
    const decision = authority.check({ principal, action, resource, context: {} });
    if (!decision.allowed) return `${arn} may not ${action} on ${resource}: ${decision.why}`;
  }
  return undefined;
}

function referencesIn(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  if ("Fn::GetStackOutput" in value) return [value["Fn::GetStackOutput"]];
  return Object.values(value).flatMap(referencesIn);
}

/** Finds alarms that watch what is never called, and alarms that reach nobody. */
export function alarmProblems({
  alarm,
  resolver,
  authority,
}: Judged & { alarm: Resource }): string[] {
  return [
    ...unwatchedEndpoint({ alarm, resolver }),
    ...deliveryProblems({ alarm, resolver, authority }),
  ];
}

/** AgentCore counts calls under the called runtime and endpoint. An alarm on any other never gets a value. */
function unwatchedEndpoint({ alarm, resolver }: { alarm: Resource; resolver: Resolver }): string[] {
  const queries = (alarm.properties.Metrics ?? []) as unknown[];
  const metrics = [
    alarm.properties,
    ...queries.map((query) => record(record(record(query).MetricStat).Metric)),
  ];
  const runtimes = resolver.resources("AWS::BedrockAgentCore::Runtime");
  const called = resolver.resources("AWS::BedrockAgentCore::RuntimeEndpoint").map((endpoint) => {
    const arn = endpoint.attribute("AgentRuntimeArn");
    const runtime = runtimes.find((candidate) => candidate.attribute("AgentRuntimeArn") === arn);
    return `${String(runtime?.properties.AgentRuntimeName)}::${String(endpoint.properties.Name)} of ${arn}`;
  });
  return metrics
    .filter(({ Namespace }) => Namespace === "AWS/Bedrock-AgentCore")
    .flatMap(({ Dimensions = [] }) => {
      const dimensions = Dimensions as { Name: string; Value: unknown }[];
      const value = (name: string) => dimensions.find(({ Name }) => Name === name)?.Value;
      const watched = `${String(value("Name"))} of ${String(value("Resource"))}`;
      return called.includes(watched)
        ? []
        : [`${alarm.label} watches ${watched}, which is never called.`];
    });
}

function deliveryProblems({ alarm, resolver, authority }: Judged & { alarm: Resource }): string[] {
  const topics = ((alarm.properties.AlarmActions ?? []) as unknown[]).map(String);
  if (topics.length === 0) return [`${alarm.label} tells nobody: it has no AlarmActions.`];
  const principal = { type: "service", service: "cloudwatch.amazonaws.com" } as const;
  const context = {
    "aws:sourcearn": alarm.arn,
    "aws:sourceaccount": alarm.stack.account,
    "kms:viaservice": `sns.${alarm.stack.region}.amazonaws.com`,
  };
  return topics.flatMap((arn) => {
    const topic = resolver.resources("AWS::SNS::Topic").find(({ ref }) => ref === arn);
    if (topic === undefined) return [`${alarm.label} tells ${arn}, which no template has.`];
    const { KmsMasterKeyId: key } = topic.properties;
    const keyCalls = (key === undefined ? [] : ["kms:Decrypt", "kms:GenerateDataKey"]).map(
      (action) => ({
        action,
        resource: keyArn(resolver, String(key)),
      }),
    );
    return [{ action: "sns:Publish", resource: arn }, ...keyCalls].flatMap(
      ({ action, resource }) => {
        const decision = authority.check({ principal, action, resource, context });
        return decision.allowed
          ? []
          : [`${alarm.label} cannot ${action} on ${resource}: ${decision.why}.`];
      },
    );
  });
}

/** Checks what AWS does with the role when it starts the function: it assumes the role, and writes logs and traces. */
export function lambdaStartProblems({
  authority,
  fn,
}: {
  authority: Authority;
  fn: LambdaFunction;
}): string[] {
  const { region, account, logGroup, isTraced, keyArn: key } = fn;
  const stream = `arn:aws:logs:${region}:${account}:log-group:${logGroup}:log-stream:2026/11/01/[$LATEST]0`;
  return startProblems({
    authority,
    started: fn,
    service: "lambda.amazonaws.com",
    calls: [
      ...["logs:CreateLogStream", "logs:PutLogEvents"].map((action) => ({
        action,
        resource: stream,
      })),
      ...(isTraced ? ["xray:PutTraceSegments", "xray:PutTelemetryRecords"] : []).map((action) => ({
        action,
        resource: "*",
      })),
      ...(key === undefined ? [] : [{ action: "kms:Decrypt", resource: key }]),
    ],
  });
}

/** https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/runtime-permissions.html */
export function runtimeStartProblems({
  authority,
  resolver,
  runtime,
}: Judged & { runtime: AgentRuntime }): string[] {
  const { region, account, arn } = runtime;
  const id = arn.split("/").at(-1);
  const logs = `arn:aws:logs:${region}:${account}:log-group`;
  const calls = Object.keys(runtime.endpoints).flatMap((endpoint) => {
    const group = `${logs}:/aws/bedrock-agentcore/runtimes/${id}-${endpoint}`;
    return [
      { action: "logs:DescribeLogStreams", resource: group },
      { action: "logs:CreateLogStream", resource: `${group}:log-stream:otel-rt-logs` },
      { action: "logs:PutLogEvents", resource: `${group}:log-stream:otel-rt-logs` },
    ];
  });
  const problems = startProblems({
    authority,
    started: runtime,
    service: "bedrock-agentcore.amazonaws.com",
    calls: [...calls, { action: "logs:DescribeLogGroups", resource: `${logs}:*` }],
  });
  const groups = Object.keys(runtime.endpoints).map((endpoint) =>
    runtimeLogGroup({ runtime, endpoint }),
  );
  return [
    ...problems,
    ...groups.flatMap((name) => logGroupProblems({ authority, resolver, runtime, name })),
  ];
}

/** https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/observability-view.html */
function runtimeLogGroup({
  runtime,
  endpoint,
}: {
  runtime: AgentRuntime;
  endpoint: string;
}): string {
  return `/aws/bedrock-agentcore/runtimes/${runtime.arn.split("/").at(-1)}-${endpoint}`;
}

/** The role cannot make the group. https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/encrypt-log-data-kms.html */
function logGroupProblems({
  authority,
  resolver,
  runtime: { label, account, region },
  name,
}: Judged & { runtime: AgentRuntime; name: string }): string[] {
  const group = resolver.resources("AWS::Logs::LogGroup").find(({ ref }) => ref === name);
  if (group === undefined) return [`${label} writes no logs: there is no log group ${name}.`];
  const resource = String(group.properties.KmsKeyId);
  const principal = { type: "service", service: `logs.${region}.amazonaws.com` } as const;
  const context = {
    "kms:encryptioncontext:aws:logs:arn": `arn:aws:logs:${region}:${account}:log-group:${name}`,
  };
  return [
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:Decrypt",
    "kms:GenerateDataKey",
    "kms:ReEncryptFrom",
  ].flatMap((action) => {
    const decision = authority.check({ principal, action, resource, context });
    return decision.allowed
      ? []
      : [`The log group ${name} may not ${action} on ${resource}: ${decision.why}.`];
  });
}

function startProblems({
  authority,
  started: { label, roleArn, account, arn },
  service,
  calls,
}: {
  authority: Authority;
  started: Pick<LambdaFunction, "label" | "roleArn" | "account" | "arn">;
  service: string;
  calls: { action: string; resource: string }[];
}): string[] {
  const trust = authority.check({
    principal: { type: "service", service },
    action: "sts:AssumeRole",
    resource: roleArn,
    context: { "aws:sourceaccount": account, "aws:sourcearn": arn },
  });
  if (!trust.allowed) return [`${label} cannot run under ${roleArn}: ${trust.why}.`];
  const principal = { type: "role", arn: roleArn, account: roleArn.split(":")[4] ?? "" } as const;
  return calls.flatMap(({ action, resource }) => {
    const decision = authority.check({ principal, action, resource, context: {} });
    return decision.allowed ? [] : [`${label} may not ${action} on ${resource}: ${decision.why}.`];
  });
}

/**
 * Returns the functions to which their own messages may lead back: through what their roles may send to, through dead-letter
 * queues, and through other functions. Lambda's recursive loop detection would stop them.
 */
export function functionsInLoops({
  resolver,
  authority,
  functions,
  sources,
}: Judged & {
  functions: readonly LambdaFunction[];
  sources: readonly EventSource[];
}): LambdaFunction[] {
  const queues = resolver.resources("AWS::SQS::Queue");
  /** The ARNs that the messages of a queue or a function may reach next, by its ARN. */
  const next = new Map<string, string[]>();
  for (const { arn: functionArn, roleArn, account } of functions) {
    const principal = { type: "role", arn: roleArn, account } as const;
    const maySend = ({ arn: resource }: Resource) =>
      authority.check({ principal, action: "sqs:SendMessage", resource, context: {} }).allowed;
    const reached = queues.filter(maySend).map(({ arn }) => arn);
    next.set(functionArn, reached);
  }
  for (const { arn, properties } of queues) {
    const { deadLetterTargetArn } = record(properties.RedrivePolicy);
    const consumers = sources
      .filter(({ queueArn }) => queueArn === arn)
      .map(({ functionArn }) => functionArn);
    next.set(
      arn,
      deadLetterTargetArn === undefined ? consumers : [...consumers, String(deadLetterTargetArn)],
    );
  }
  return functions.filter(({ arn }) => reachableFrom(arn, next).has(arn));
}

function reachableFrom(start: string, next: ReadonlyMap<string, string[]>): Set<string> {
  const reached = new Set<string>();
  const open = [...(next.get(start) ?? [])];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (reached.has(place)) continue;
    reached.add(place);
    open.push(...(next.get(place) ?? []));
  }
  return reached;
}
