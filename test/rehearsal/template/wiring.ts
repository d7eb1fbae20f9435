/** What runs, as the templates say: functions, what wakes them, and AgentCore runtimes. Every field is resolved. */
import type { Lifecycle } from "../agent-sessions.ts";
import type { Assembly } from "./assembly.ts";
import type { Resolver, Resource } from "./resolve.ts";

export type RunningPlace = { roleArn: string; account: string; region: string; environment: Record<string, string> };

export type LambdaFunction = RunningPlace & {
  /** For people: the zone and the logical id. */
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
  /** Whether Lambda lets it run in a loop of functions and queues. */
  allowsLoops: boolean;
  reservedConcurrency: number | undefined;
  keyArn: string | undefined;
  /** ARNs of its aliases. The rehearsal runs only what follows $LATEST. */
  aliasArns: string[];
};

export type AgentRuntime = RunningPlace & {
  label: string;
  name: string;
  lifecycle: Lifecycle;
  arn: string;
  folder: string;
  entryPoint: string;
  /** Its endpoints by name, which is what a call's qualifier names. */
  endpoints: Record<string, string>;
};

export type EventSource = {
  label: string;
  queueArn: string;
  functionArn: string;
  batchSize: number;
  maxConcurrency: number;
  /** How long a received message is hidden. */
  visibilityMs: number;
  reportsItemFailures: boolean;
};

export function functionsOf({ assembly, resolver }: { assembly: Assembly; resolver: Resolver }): LambdaFunction[] {
  return resolver.resources("AWS::Lambda::Function").map((resource) => {
    const { properties, label, stack } = resource;
    const { S3Key } = record(properties.Code);
    const { LogGroup } = record(properties.LoggingConfig);
    const name = resolver.ref(resource);
    return {
      label,
      name,
      arn: resolver.attribute(resource, "Arn"),
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
      aliasArns: aliasArnsOf({ resolver, name, arn: resolver.attribute(resource, "Arn") }),
    };
  });
}

function aliasArnsOf({ resolver, name, arn }: { resolver: Resolver; name: string; arn: string }): string[] {
  return resolver
    .resources("AWS::Lambda::Alias")
    .filter(({ properties }) => [name, arn].includes(String(properties.FunctionName)))
    .map((alias) => {
      const { FunctionVersion, RoutingConfig } = alias.properties;
      if (FunctionVersion === "$LATEST" && RoutingConfig === undefined) return resolver.ref(alias);
      throw new Error(`${alias.label} does not follow $LATEST, and the rehearsal runs nothing else.`);
    });
}

export function runtimesOf({ assembly, resolver }: { assembly: Assembly; resolver: Resolver }): AgentRuntime[] {
  const endpoints = resolver.resources("AWS::BedrockAgentCore::RuntimeEndpoint");
  return resolver.resources("AWS::BedrockAgentCore::Runtime").map((resource) => {
    const { properties, label, stack } = resource;
    const code = record(record(properties.AgentRuntimeArtifact).CodeConfiguration);
    const arn = resolver.attribute(resource, "AgentRuntimeArn");
    const own = endpoints.filter((endpoint) => resolver.attribute(endpoint, "AgentRuntimeArn") === arn);
    const { IdleRuntimeSessionTimeout = 900, MaxLifetime = 28_800 } = record(properties.LifecycleConfiguration);
    const entryPoint = Array.isArray(code.EntryPoint) ? String(code.EntryPoint.at(-1)) : "";
    return {
      label,
      arn,
      name: String(properties.AgentRuntimeName),
      lifecycle: { idleSeconds: Number(IdleRuntimeSessionTimeout), maxLifetimeSeconds: Number(MaxLifetime) },
      roleArn: String(properties.RoleArn),
      account: stack.account,
      region: stack.region,
      environment: textsOf(properties.EnvironmentVariables),
      folder: assembly.assetFolder(String(record(record(code.Code).S3).Prefix)),
      entryPoint,
      endpoints: Object.fromEntries(
        own.map((endpoint) => [
          String(endpoint.properties.Name),
          resolver.attribute(endpoint, "AgentRuntimeEndpointArn"),
        ]),
      ),
    };
  });
}

/** AWS polls with five batches at once at least, where the template sets no bound. */
const defaultConcurrency = 5;
const defaultVisibilitySeconds = 30;

export function eventSourcesOf({ resolver }: { resolver: Resolver }): EventSource[] {
  const mappings = resolver.resources("AWS::Lambda::EventSourceMapping");
  return mappings.map(({ label, properties }) => ({
    label,
    queueArn: String(properties.EventSourceArn),
    visibilityMs: visibilityMsOf(resolver, String(properties.EventSourceArn)),
    functionArn: arnOfFunction({ resolver, name: String(properties.FunctionName) }),
    batchSize: Number(properties.BatchSize ?? 10),
    maxConcurrency: Number(record(properties.ScalingConfig).MaximumConcurrency ?? defaultConcurrency),
    reportsItemFailures: textList(properties.FunctionResponseTypes).includes("ReportBatchItemFailures"),
  }));
}

function visibilityMsOf(resolver: Resolver, arn: string): number {
  const queue = resourceByArn({ resolver, type: "AWS::SQS::Queue", arn });
  return Number(queue?.properties.VisibilityTimeout ?? defaultVisibilitySeconds) * 1000;
}

/** Where templates may say either, name or ARN. */
export function arnOfFunction({ resolver, name }: { resolver: Resolver; name: string }): string {
  const found = resolver
    .resources("AWS::Lambda::Function")
    .find((fn) => resolver.ref(fn) === name || resolver.attribute(fn, "Arn") === name);
  if (found === undefined) throw new Error(`No template has the function ${name}.`);
  return resolver.attribute(found, "Arn");
}

export function resourceByArn({
  resolver,
  type,
  arn,
}: {
  resolver: Resolver;
  type: string;
  arn: string;
}): Resource | undefined {
  return resolver.resources(type).find((resource) => resolver.attribute(resource, "Arn") === arn);
}

export function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function numberOr(value: unknown): number | undefined {
  return value === undefined ? undefined : Number(value);
}

function textsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(record(value)).map(([key, text]) => [key, String(text)]));
}

function textList(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
