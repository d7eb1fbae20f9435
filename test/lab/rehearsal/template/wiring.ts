/** Reads from the templates what runs: functions, their event sources, and AgentCore runtimes, with every field resolved. */
import type { Lifecycle } from "../agent-runtime.ts";
import type { Assembly } from "./assembly.ts";
import type { Resolver, Resource } from "./resolve.ts";

export type RunningPlace = {
  roleArn: string;
  account: string;
  region: string;
  environment: Record<string, string>;
};

export type LambdaFunction = RunningPlace & {
  /** The zone and the logical id, for messages. */
  label: string;
  name: string;
  arn: string;
  handler: string;
  runtime: string;
  folder: string;
  timeoutMs: number;
  memoryMb: number;
  logGroup: string;
  isTraced: boolean;
  /** True if Lambda lets it run in a loop. */
  allowsLoops: boolean;
  reservedConcurrency: number | undefined;
  keyArn: string | undefined;
  /** The ARNs of its aliases, all of which follow $LATEST. */
  aliasArns: string[];
};

export type AgentRuntime = RunningPlace & {
  label: string;
  name: string;
  /** Its protocol is A2A. */
  isA2a: boolean;
  /** The headers of callers that the platform passes on beside its own. */
  allowedHeaders: string[];
  lifecycle: Lifecycle;
  arn: string;
  folder: string;
  entryPoint: string;
  /** The ARNs of its endpoints by name, which is the qualifier of a call. */
  endpoints: Record<string, string>;
};

export type EventSource = {
  label: string;
  queueArn: string;
  functionArn: string;
  batchSize: number;
  maxConcurrency: number;
  /** The visibility timeout. */
  visibilityMs: number;
  reportsItemFailures: boolean;
};

export function functionsOf({
  assembly,
  resolver,
}: {
  assembly: Assembly;
  resolver: Resolver;
}): LambdaFunction[] {
  return resolver.resources("AWS::Lambda::Function").map((resource) => {
    const { properties, label, stack } = resource;
    const { S3Key } = record(properties.Code);
    const { LogGroup } = record(properties.LoggingConfig);
    const { ref: name, arn } = resource;
    return {
      label,
      name,
      arn,
      roleArn: String(properties.Role),
      account: stack.account,
      region: stack.region,
      environment: textsOf(record(properties.Environment).Variables),
      handler: String(properties.Handler),
      runtime: String(properties.Runtime),
      folder: assembly.assetFolder(String(S3Key)),
      timeoutMs: Number(properties.Timeout ?? 3) * 1000,
      memoryMb: Number(properties.MemorySize ?? 128),
      logGroup: LogGroup === undefined ? `/aws/lambda/${name}` : String(LogGroup),
      isTraced: record(properties.TracingConfig).Mode === "Active",
      allowsLoops: properties.RecursiveLoop === "Allow",
      reservedConcurrency: numberOr(properties.ReservedConcurrentExecutions),
      keyArn: properties.KmsKeyArn === undefined ? undefined : String(properties.KmsKeyArn),
      aliasArns: aliasArnsOf(resolver, resource),
    };
  });
}

function aliasArnsOf(resolver: Resolver, fn: Resource): string[] {
  return resolver
    .resources("AWS::Lambda::Alias")
    .filter(({ properties }) => [fn.ref, fn.arn].includes(String(properties.FunctionName)))
    .map((alias) => {
      const { FunctionVersion, RoutingConfig } = alias.properties;
      if (FunctionVersion === "$LATEST" && RoutingConfig === undefined) return alias.ref;
      throw new Error(
        `${alias.label} does not follow $LATEST, and the rehearsal runs nothing else.`,
      );
    });
}

export function runtimesOf({
  assembly,
  resolver,
}: {
  assembly: Assembly;
  resolver: Resolver;
}): AgentRuntime[] {
  const endpoints = resolver.resources("AWS::BedrockAgentCore::RuntimeEndpoint");
  return resolver.resources("AWS::BedrockAgentCore::Runtime").map((resource) => {
    const { properties, label, stack } = resource;
    const code = record(record(properties.AgentRuntimeArtifact).CodeConfiguration);
    const arn = resource.attribute("AgentRuntimeArn");
    const own = endpoints.filter((endpoint) => endpoint.attribute("AgentRuntimeArn") === arn);
    const { IdleRuntimeSessionTimeout = 900, MaxLifetime = 28_800 } = record(
      properties.LifecycleConfiguration,
    );
    const { RequestHeaderAllowlist: allowedHeaders = [] } = record(
      properties.RequestHeaderConfiguration,
    );
    const entryPoint = Array.isArray(code.EntryPoint) ? String(code.EntryPoint.at(-1)) : "";
    return {
      label,
      arn,
      name: String(properties.AgentRuntimeName),
      isA2a: properties.ProtocolConfiguration === "A2A",
      allowedHeaders: (allowedHeaders as unknown[]).map(String),
      lifecycle: {
        idleSeconds: Number(IdleRuntimeSessionTimeout),
        maxLifetimeSeconds: Number(MaxLifetime),
      },
      roleArn: String(properties.RoleArn),
      account: stack.account,
      region: stack.region,
      environment: textsOf(properties.EnvironmentVariables),
      folder: assembly.assetFolder(String(record(record(code.Code).S3).Prefix)),
      entryPoint,
      endpoints: Object.fromEntries(
        own.map((endpoint) => [
          String(endpoint.properties.Name),
          endpoint.attribute("AgentRuntimeEndpointArn"),
        ]),
      ),
    };
  });
}

/** Without a bound in the template AWS hands over at least five batches at once. */
const defaultConcurrency = 5;
const defaultVisibilitySeconds = 30;

export function eventSourcesOf({ resolver }: { resolver: Resolver }): EventSource[] {
  const mappings = resolver.resources("AWS::Lambda::EventSourceMapping");
  return mappings.map(({ label, properties }) => ({
    label,
    queueArn: String(properties.EventSourceArn),
    visibilityMs: visibilityMsOf(
      resolver.byArn("AWS::SQS::Queue", String(properties.EventSourceArn)),
    ),
    functionArn: arnOfFunction(resolver, String(properties.FunctionName)),
    batchSize: Number(properties.BatchSize ?? 10),
    maxConcurrency: Number(
      record(properties.ScalingConfig).MaximumConcurrency ?? defaultConcurrency,
    ),
    reportsItemFailures: textList(properties.FunctionResponseTypes).includes(
      "ReportBatchItemFailures",
    ),
  }));
}

export function visibilityMsOf(queue: Resource | undefined): number {
  return Number(queue?.properties.VisibilityTimeout ?? defaultVisibilitySeconds) * 1000;
}

/** Templates refer to a function by its name or by its ARN. */
export function arnOfFunction(resolver: Resolver, name: string): string {
  const found = resolver
    .resources("AWS::Lambda::Function")
    .find((fn) => [fn.ref, fn.arn].includes(name));
  if (found === undefined) throw new Error(`No template has the function ${name}.`);
  return found.arn;
}

export function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function numberOr(value: unknown): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function textsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(record(value)).map(([key, text]) => [key, String(text)]),
  );
}

function textList(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
