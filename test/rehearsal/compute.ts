/** All that runs code: functions, their URLs, AgentCore runtimes, and what takes messages to functions. */
import type { WebServer } from "../doubles/web-server.ts";
import { type RunningRuntime, runAgentRuntime } from "./agent-runtime.ts";
import type { SessionQuotas } from "./agent-sessions.ts";
import type { Gateway } from "./aws/gateway.ts";
import type { Metrics } from "./aws/metrics.ts";
import type { Dependencies } from "./dependencies.ts";
import { type Pace, pollQueue } from "./event-sources.ts";
import { startFunctionUrl } from "./function-url.ts";
import type { Authority } from "./iam/authority.ts";
import type { Concurrency } from "./lambda/concurrency.ts";
import { type RunningFunction, runFunction } from "./lambda/function.ts";
import { measureFunction, measureLine } from "./measuring.ts";
import { lambdaStartProblems, runtimeStartProblems } from "./start-rights.ts";
import type { Resolver, Resource } from "./template/resolve.ts";
import { type AgentRuntime, type EventSource, type LambdaFunction, resourceByArn } from "./template/wiring.ts";

type Common = {
  authority: Authority;
  dependencies: Dependencies;
  metrics: Metrics;
  onLine: (from: string, line: string) => void;
  onProblem: (problem: string) => void;
};
type Functions = ReadonlyMap<string, RunningFunction>;

/** By ARN. Those behind a URL come first, since the others are told where they are. */
export async function startFunctions({
  functions,
  resolver,
  calls,
  concurrency,
  ...common
}: Common & {
  functions: readonly LambdaFunction[];
  resolver: Resolver;
  concurrency: Concurrency;
  calls: Gateway["calls"];
}): Promise<{ running: Functions; urls: WebServer[] }> {
  const { authority, dependencies, metrics, onLine, onProblem } = common;
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
  const urls = resolver.resources("AWS::Lambda::Url");
  for (const url of urls) {
    const fn = functions.find((candidate) => isBehind(url, candidate));
    if (fn === undefined) throw new Error(`${url.label} leads to no function.`);
    const { callerOf } = dependencies;
    const server = await startFunctionUrl({ url, fn: run(fn), authority, callerOf, calls, onProblem });
    servers.push(server);
    dependencies.move({
      believed: resolver.attribute(url, "FunctionUrl").replace(/\/$/, ""),
      actual: server.url,
    });
  }
  for (const fn of functions) if (!running.has(fn.arn)) run(fn);
  return { running, urls: servers };
}

function isBehind(url: Resource, { arn, name }: LambdaFunction): boolean {
  return [arn, name].includes(String(url.properties.TargetFunctionArn));
}

export function startRuntime({
  runtime,
  quotas,
  authority,
  dependencies,
  onLine,
  onProblem,
}: Common & { runtime: AgentRuntime; quotas: SessionQuotas }): RunningRuntime {
  return runAgentRuntime({
    runtime,
    quotas,
    environment: dependencies.environmentOf(runtime),
    onStart: () => runtimeStartProblems({ authority, runtime }).forEach(onProblem),
    onLine: (line) => onLine(runtime.label, line),
    onFailure: (error) => onProblem(`${runtime.label} failed: ${error}`),
  });
}

/** Resolves when `signal` has ended it and the last batch is over. */
export async function startEventSource({
  source,
  functions,
  resolver,
  gatewayUrl,
  pace,
  signal,
  dependencies,
  onProblem,
}: Pick<Common, "dependencies" | "onProblem"> & {
  source: EventSource;
  functions: Functions;
  resolver: Resolver;
  gatewayUrl: string;
  pace: Pace;
  signal: AbortSignal;
}): Promise<void> {
  const target = functions.get(source.functionArn);
  const queue = resourceByArn({ resolver, type: "AWS::SQS::Queue", arn: source.queueArn });
  if (target === undefined || queue === undefined) throw new Error(`${source.label} leads to nothing.`);
  const caller = dependencies.callerFor({ place: target.fn, name: source.label, kind: "event source" });
  const queueUrl = resolver.ref(queue);
  await pollQueue({ source, queueUrl, target, caller, gatewayUrl, pace, signal, onProblem });
}
