/** Everything that runs code: functions, their URLs, AgentCore runtimes, and event sources. */
import type { WebServer } from "../../doubles/web-server.ts";
import { type RunningRuntime, runAgentRuntime, type SessionQuotas } from "./agent-runtime.ts";
import { type Caller, createCaller, credentialVariables } from "./aws/callers.ts";
import type { Gateway } from "./aws/gateway.ts";
import { type Metrics, measureFunction, measureLine } from "./aws/metrics.ts";
import { lambdaStartProblems, runtimeStartProblems } from "./deploy-checks.ts";
import { type Pace, pollQueue } from "./event-sources.ts";
import { startFunctionUrl } from "./http-entries.ts";
import type { Authority } from "./iam/authority.ts";
import type { Concurrency } from "./lambda/concurrency.ts";
import { type RunningFunction, runFunction } from "./lambda/function.ts";
import type { Resolver } from "./template/resolve.ts";
import type { AgentRuntime, EventSource, LambdaFunction, RunningPlace } from "./template/wiring.ts";

type Place = RunningPlace & { label: string };

/** The surroundings of functions and runtimes. */
export type Dependencies = ReturnType<typeof createDependencies>;

export function createDependencies({
  gateway,
  slackApiUrl,
}: {
  gateway: Gateway;
  slackApiUrl: string;
}) {
  const addresses = new Map<string, string>();
  const callers = new Map<string, Caller>();

  function callerFor({
    place,
    name,
    kind,
  }: {
    place: Place;
    name: string;
    kind: Caller["kind"];
  }): Caller {
    const { roleArn, account, region } = place;
    const caller = createCaller({ name, kind, roleArn, account, region });
    admit(caller);
    return caller;
  }

  function admit(caller: Caller): void {
    callers.set(caller.credentials.accessKeyId, caller);
    gateway.register(caller);
  }

  function moved(text: string): string {
    return [...addresses].reduce(
      (result, [believed, actual]) => result.replaceAll(believed, actual),
      text,
    );
  }

  return {
    /** Returns the template's variables, with addresses as they are here, and credentials of the place's role. */
    environmentOf(place: Place): Record<string, string> {
      const own = Object.entries(place.environment).map(
        ([name, value]) => [name, moved(value)] as const,
      );
      const caller = callerFor({ place, name: place.label, kind: "code" });
      const variables: Record<string, string> = {
        ...Object.fromEntries(own),
        ...credentialVariables(caller),
      };
      if (variables.SEKISHO_SLACK_API_URL !== undefined)
        variables.SEKISHO_SLACK_API_URL = slackApiUrl;
      return { ...variables, AWS_ENDPOINT_URL: gateway.url };
    },
    callerFor,
    /** Makes the credentials of a caller known. */
    admit,
    callerOf: (accessKeyId: string) => callers.get(accessKeyId),
    /** From now on the address `believed` of the templates is to be found at `actual`. */
    move: ({ believed, actual }: { believed: string; actual: string }) =>
      void addresses.set(believed, actual),
    /** Returns the text with all addresses as they are here. */
    moved,
  };
}

type Common = {
  authority: Authority;
  dependencies: Dependencies;
  metrics: Metrics;
  onLine: (from: string, line: string) => void;
  onProblem: (problem: string) => void;
};
type Functions = ReadonlyMap<string, RunningFunction>;

/** Starts all functions; the result is by ARN. Those with a URL start first, because the others get their addresses. */
export async function startFunctions({
  functions,
  resolver,
  calls,
  concurrency,
  authority,
  dependencies,
  metrics,
  onLine,
  onProblem,
}: Common & {
  functions: readonly LambdaFunction[];
  resolver: Resolver;
  concurrency: Concurrency;
  calls: Gateway["calls"];
}): Promise<{ running: Functions; urls: WebServer[] }> {
  const running = new Map<string, RunningFunction>();
  const servers: WebServer[] = [];
  const run = (fn: LambdaFunction) => {
    const started = runFunction({
      fn,
      environment: dependencies.environmentOf(fn),
      concurrency,
      measure: measureFunction({ metrics, fn }),
      onStart: () => lambdaStartProblems({ authority, fn }).forEach(onProblem),
      onLine(line) {
        onLine(fn.label, line);
        measureLine({ metrics, place: fn, line });
      },
      onFailure: (error) => onProblem(`${fn.label} failed: ${error}`),
    });
    running.set(fn.arn, started);
    return started;
  };
  for (const url of resolver.resources("AWS::Lambda::Url")) {
    const target = String(url.properties.TargetFunctionArn);
    const fn = functions.find(({ arn, name }) => [arn, name].includes(target));
    if (fn === undefined) throw new Error(`${url.label} leads to no function.`);
    const { callerOf } = dependencies;
    const server = await startFunctionUrl({
      url,
      fn: run(fn),
      authority,
      callerOf,
      calls,
      onProblem,
    });
    servers.push(server);
    dependencies.move({
      believed: url.attribute("FunctionUrl").replace(/\/$/, ""),
      actual: server.url,
    });
  }
  for (const fn of functions) if (!running.has(fn.arn)) run(fn);
  return { running, urls: servers };
}

export function startRuntime({
  runtime,
  quotas,
  resolver,
  authority,
  dependencies,
  onLine,
  onProblem,
}: Omit<Common, "metrics"> & {
  runtime: AgentRuntime;
  quotas: SessionQuotas;
  resolver: Resolver;
}): RunningRuntime {
  return runAgentRuntime({
    runtime,
    quotas,
    environment: dependencies.environmentOf(runtime),
    onStart: () => runtimeStartProblems({ authority, resolver, runtime }).forEach(onProblem),
    onLine: (line) => onLine(runtime.label, line),
    onFailure: (error) => onProblem(`${runtime.label} failed: ${error}`),
  });
}

/** Resolves when `signal` has ended it and the last batch is over. */
export async function startEventSource({
  source,
  functions,
  resolver,
  dependencies,
  ...options
}: Pick<Common, "dependencies" | "onProblem"> & {
  source: EventSource;
  functions: Functions;
  resolver: Resolver;
  gatewayUrl: string;
  pace: Pace;
  signal: AbortSignal;
}): Promise<void> {
  const target = functions.get(source.functionArn);
  const queue = resolver.byArn("AWS::SQS::Queue", source.queueArn);
  if (target === undefined || queue === undefined)
    throw new Error(`${source.label} leads to nothing.`);
  const caller = dependencies.callerFor({
    place: target.fn,
    name: source.label,
    kind: "event source",
  });
  await pollQueue({ source, queueUrl: queue.ref, target, caller, ...options });
}
