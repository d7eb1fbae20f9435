/** Everything that the templates of one kind describe, running: functions, queues, tables, runtimes, with a Slack in front. */
import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { type SlackStandIn, startSlackStandIn } from "../../bin/local/slack-stand-in.ts";
import type { StandInMessage } from "../../bin/local/stand-in/messages.ts";
import { managedSecretName } from "../../lambdas/shared/config/stage-config.ts";
import { stackNameOf, verificationOutputs } from "../../lib/names.ts";
import { startDynamoDbEmulator, startSqsEmulator } from "../doubles/aws/emulators.ts";
import { runAgentRuntime } from "./agent-runtime.ts";
import { agentCoreBackend, endpointArnOf } from "./aws/agentcore.ts";
import { type Caller, createCaller, credentialVariables } from "./aws/callers.ts";
import { type Gateway, startGateway } from "./aws/gateway.ts";
import { impliedBy } from "./aws/implied.ts";
import { type KeptValues, keepValues, secretArn } from "./aws/kept-values.ts";
import { createQueues, type Queues } from "./aws/queues.ts";
import { createTables } from "./aws/tables.ts";
import { wiringProblems } from "./checks.ts";
import { pollQueue } from "./event-sources.ts";
import { startFunctionUrl } from "./function-url.ts";
import { startHttpEntry } from "./http-entry.ts";
import { type Authority, createAuthority } from "./iam/authority.ts";
import { collectPolicies } from "./iam/policies.ts";
import { type RunningFunction, runFunction } from "./lambda/function.ts";
import { lambdaStartProblems, runtimeStartProblems } from "./start-rights.ts";
import { stageName } from "./synthesized.ts";
import type { Assembly } from "./template/assembly.ts";
import { createResolver, type Resolver } from "./template/resolve.ts";
import { eventSourcesOf, functionsOf, type RunningPlace, resourceByArn, runtimesOf } from "./template/wiring.ts";

export const executionToken = "token-of-the-host-elsewhere";

export type World = {
  /** Why a deploy of these templates would not work, as readable lines. */
  problems: string[];
  /** What functions and runtimes wrote, by logical id. */
  lines: { from: string; line: string }[];
  resolver: Resolver;
  authority: Authority;
  gateway: Gateway;
  queues: Queues;
  values: KeptValues;
  functions: ReadonlyMap<string, RunningFunction>;
  standIn: SlackStandIn;
  eventsUrl: string;
  secrets: Record<string, string>;
  ask(request: { text: string; channel?: string }): { message: StandInMessage; requestId: string };
  /** What the bot has in the thread of a message. */
  answersTo(message: StandInMessage): StandInMessage[];
  /** Resolves to the first thing that `look` finds. Rejects with the problems, or after a time with what was waited for. */
  until<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T>;
  close(): Promise<void>;
};

const patienceMs = 40_000;

export async function startWorld({ assembly }: { assembly: Assembly }): Promise<World> {
  const closing: (() => Promise<unknown>)[] = [];
  const problems: string[] = [];
  const lines: World["lines"] = [];
  const onProblem = (problem: string) => {
    if (!problems.includes(problem)) problems.push(problem);
  };
  const close = async () => {
    for (const step of closing.splice(0).reverse()) await step();
  };
  try {
    return await start();
  } catch (error) {
    await close();
    throw error;
  }

  async function start(): Promise<World> {
    const resolver = createResolver({ assembly });
    const policies = collectPolicies({ resolver });
    const authority = createAuthority({ policies });
    const lambdaFunctions = functionsOf({ assembly, resolver });
    const runtimes = runtimesOf({ assembly, resolver });
    const sources = eventSourcesOf({ resolver });
    for (const problem of wiringProblems({ resolver, policies, functions: lambdaFunctions, sources }))
      onProblem(problem);

    const [sqs, dynamodb] = await Promise.all([startSqsEmulator(), startDynamoDbEmulator()]);
    closing.push(
      () => sqs.close(),
      () => dynamodb.close(),
    );
    const [queues, tables] = await Promise.all([
      createQueues({ endpoint: sqs.endpoint, resolver }),
      createTables({ endpoint: dynamodb.endpoint, resolver }),
    ]);
    const secrets = {
      SLACK_SIGNING_SECRET: randomBytes(16).toString("hex"),
      SLACK_BOT_TOKEN: "xoxb-of-the-rehearsal",
      EXECUTION_TOKEN: executionToken,
    };
    const values = keepValues({
      resolver,
      onProblem,
      secrets: Object.fromEntries(
        Object.entries(secrets).map(([env, value]) => [managedSecretName({ stageName, env }), value]),
      ),
    });
    const runningRuntimes = new Map<string, ReturnType<typeof runAgentRuntime>>();
    const gateway = await startGateway({
      authority,
      implied: impliedBy({ resolver }),
      backends: {
        sqs: queues.backend,
        dynamodb: tables,
        secretsmanager: values.secrets,
        ssm: values.parameters,
        "bedrock-agentcore": agentCoreBackend({ runtimes: runningRuntimes }),
      },
      endpointArn: endpointArnOf({ runtimes }),
      secretArn: ({ id, caller }) => secretArn({ id, account: caller.account, region: caller.region }),
      onProblem,
    });
    closing.push(gateway.close);
    const standIn = await startSlackStandIn({
      signingSecret: secrets.SLACK_SIGNING_SECRET,
      botToken: secrets.SLACK_BOT_TOKEN,
    });
    closing.push(standIn.close);

    /** What the templates believe to be an address, and where it is. */
    const addresses = new Map<string, string>();
    const callers = new Map<string, Caller>();
    const callerFor = (place: RunningPlace & { logicalId: string }, kind: Caller["kind"]) => {
      const caller = createCaller({ ...place, name: place.logicalId, kind });
      callers.set(caller.credentials.accessKeyId, caller);
      gateway.register(caller);
      return caller;
    };
    const surroundings = (place: RunningPlace & { logicalId: string }) => {
      const own = Object.entries(place.environment).map(([name, value]) => [name, relocated(value)] as const);
      const variables = { ...Object.fromEntries(own), ...credentialVariables(callerFor(place, "code")) };
      if ("SEKISHO_SLACK_API_URL" in variables) variables.SEKISHO_SLACK_API_URL = standIn.apiUrl;
      return { ...variables, AWS_ENDPOINT_URL: gateway.url };
    };
    const relocated = (text: string) => {
      let moved = text;
      for (const [believed, actual] of addresses) moved = moved.replaceAll(believed, actual);
      return moved;
    };

    const functions = new Map<string, RunningFunction>();
    const runNow = (fn: (typeof lambdaFunctions)[number]) => {
      const running = runFunction({
        fn,
        environment: surroundings(fn),
        onStart: () => lambdaStartProblems({ authority, fn }).forEach(onProblem),
        onLine: (line) => void lines.push({ from: fn.logicalId, line }),
        onFailure: (error) => onProblem(`${fn.logicalId} failed: ${error}`),
      });
      functions.set(fn.arn, running);
      closing.push(running.close);
    };
    // Functions behind a URL come first: the others are told where they are.
    const urls = resolver.resources("AWS::Lambda::Url");
    const isBehindUrl = ({ arn, name }: { arn: string; name: string }) =>
      urls.some(({ properties }) => [arn, name].includes(String(properties.TargetFunctionArn)));
    lambdaFunctions.filter(isBehindUrl).forEach(runNow);
    for (const url of urls) {
      const fn = [...functions.values()].find(({ fn: { arn, name } }) =>
        [arn, name].includes(String(url.properties.TargetFunctionArn)),
      );
      if (fn === undefined) throw new Error(`${url.logicalId} leads to no function.`);
      const callerOf = (accessKeyId: string) => callers.get(accessKeyId);
      const server = await startFunctionUrl({ url, fn, authority, callerOf, calls: gateway.calls, onProblem });
      closing.push(server.close);
      addresses.set(resolver.attribute(url, "FunctionUrl").replace(/\/$/, ""), server.url);
    }
    lambdaFunctions.filter((fn) => !isBehindUrl(fn)).forEach(runNow);
    for (const runtime of runtimes) {
      const running = runAgentRuntime({
        runtime,
        environment: surroundings(runtime),
        onStart: () => runtimeStartProblems({ authority, runtime }).forEach(onProblem),
        onLine: (line) => void lines.push({ from: runtime.logicalId, line }),
        onFailure: (error) => onProblem(`${runtime.logicalId} failed: ${error}`),
      });
      runningRuntimes.set(runtime.arn, running);
      closing.push(running.close);
    }

    const stop = new AbortController();
    const polling = sources.map((source) => {
      const target = functions.get(source.functionArn);
      const queue = resourceByArn({ resolver, type: "AWS::SQS::Queue", arn: source.queueArn });
      if (target === undefined || queue === undefined) throw new Error(`${source.logicalId} leads to nothing.`);
      const caller = callerFor({ ...target.fn, logicalId: source.logicalId }, "event source");
      return pollQueue({
        source,
        queueUrl: resolver.ref(queue),
        target,
        caller,
        gatewayUrl: gateway.url,
        signal: stop.signal,
        onProblem,
      });
    });
    closing.push(async () => {
      stop.abort();
      // What is under way ends with its instances.
      await Promise.all([...functions.values()].map((fn) => fn.close()));
      await Promise.all(polling);
    });
    const entry = await startHttpEntry({ resolver, authority, functions, onProblem });
    closing.push(entry.close);
    addresses.set(entry.origin, entry.url);
    const stackName = stackNameOf({ stageName, zone: "Verification" });
    const eventsUrl = relocated(resolver.output({ stackName, name: verificationOutputs.eventsUrl }));

    return {
      problems,
      lines,
      resolver,
      authority,
      gateway,
      queues,
      values,
      functions,
      standIn,
      eventsUrl,
      secrets,
      ask: ({ text, channel }) => standIn.ask({ eventsUrl, text, ...(channel === undefined ? {} : { channel }) }),
      answersTo: (message) => standIn.thread(message).filter(({ ts }) => ts !== message.ts),
      async until(what, look) {
        const endMs = Date.now() + patienceMs;
        for (;;) {
          const found = await look();
          if (found !== undefined) return found;
          if (problems.length > 0) throw new Error(problems.join("\n"));
          if (Date.now() > endMs) throw new Error(`In ${patienceMs / 1000} s there was no ${what}.`);
          await wait(50);
        }
      },
      close,
    };
  }
}
