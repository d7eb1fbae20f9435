/** What AWS does with a role when it starts what runs under it: takes it on, and writes its logs and traces. */
import type { Authority } from "./iam/authority.ts";
import type { AgentRuntime, LambdaFunction } from "./template/wiring.ts";

/** The problems found. */
export function lambdaStartProblems({ authority, fn }: { authority: Authority; fn: LambdaFunction }): string[] {
  const { roleArn, region, account, logGroup, label, isTraced, keyArn, arn } = fn;
  const context = { "aws:sourceaccount": account, "aws:sourcearn": arn };
  const stream = `arn:aws:logs:${region}:${account}:log-group:${logGroup}:log-stream:2026/11/01/[$LATEST]0`;
  return problemsOf({
    authority,
    label,
    roleArn,
    service: { principal: "lambda.amazonaws.com", context },
    calls: [
      { action: "logs:CreateLogStream", resource: stream },
      { action: "logs:PutLogEvents", resource: stream },
      ...(isTraced ? ["xray:PutTraceSegments", "xray:PutTelemetryRecords"] : []).map((action) => ({
        action,
        resource: "*",
      })),
      ...(keyArn === undefined ? [] : [{ action: "kms:Decrypt", resource: keyArn }]),
    ],
  });
}

/** https://docs.aws.amazon.com/bedrock-agentcore/latest/devguide/runtime-permissions.html */
export function runtimeStartProblems({
  authority,
  runtime,
}: {
  authority: Authority;
  runtime: AgentRuntime;
}): string[] {
  const { roleArn, region, account, label, arn } = runtime;
  const context = { "aws:sourceaccount": account, "aws:sourcearn": arn };
  const id = arn.split("/").at(-1);
  const logs = `arn:aws:logs:${region}:${account}:log-group`;
  const calls = Object.keys(runtime.endpoints).flatMap((endpoint) => {
    const group = `${logs}:/aws/bedrock-agentcore/runtimes/${id}-${endpoint}`;
    return [
      { action: "logs:CreateLogGroup", resource: group },
      { action: "logs:DescribeLogStreams", resource: group },
      { action: "logs:CreateLogStream", resource: `${group}:log-stream:otel-rt-logs` },
      { action: "logs:PutLogEvents", resource: `${group}:log-stream:otel-rt-logs` },
    ];
  });
  return problemsOf({
    authority,
    label,
    roleArn,
    service: { principal: "bedrock-agentcore.amazonaws.com", context },
    calls: [...calls, { action: "logs:DescribeLogGroups", resource: `${logs}:*` }],
  });
}

function problemsOf({
  authority,
  label,
  roleArn,
  service,
  calls,
}: {
  authority: Authority;
  label: string;
  roleArn: string;
  service: { principal: string; context: Record<string, string> };
  calls: { action: string; resource: string }[];
}): string[] {
  const account = roleArn.split(":")[4] ?? "";
  const trust = authority.check({
    principal: { type: "service", service: service.principal },
    action: "sts:AssumeRole",
    resource: roleArn,
    context: service.context,
  });
  if (!trust.allowed) return [`${label} cannot run under ${roleArn}: ${trust.why}.`];
  return calls.flatMap(({ action, resource }) => {
    const principal = { type: "role", arn: roleArn, account } as const;
    const decision = authority.check({ principal, action, resource, context: {} });
    return decision.allowed ? [] : [`${label} may not ${action} on ${resource}: ${decision.why}.`];
  });
}
