/** Everything that the templates of one kind describe, running, with a Slack in front. */
import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { formatManagedSecretName } from "../../lambdas/shared/config/stage-config.ts";
import { type FakeSlack, startFakeSlack } from "../../lib/local/fake-slack/fake-slack.ts";
import type { FakeSlackMessage } from "../../lib/local/fake-slack/messages.ts";
import type { PostedByFakePerson } from "../../lib/local/fake-slack/persons.ts";
import { startDynamoDbEmulator } from "../doubles/aws/emulators.ts";
import type { RunningRuntime } from "./agent-runtime.ts";
import { defaultQuotas, type SessionQuotas } from "./agent-sessions.ts";
import { alarmProblems } from "./alarms.ts";
import { type AgentCoreState, agentCoreBackend, endpointArnOf } from "./aws/agentcore.ts";
import { type Buckets, createBuckets } from "./aws/buckets.ts";
import { cloudWatchBackend } from "./aws/cloudwatch.ts";
import { type Gateway, startGateway } from "./aws/gateway.ts";
import { impliedBy } from "./aws/implied.ts";
import { type CachedValues, keepValues, secretArn } from "./aws/kept-values.ts";
import { lambdaBackend } from "./aws/lambda.ts";
import { logsBackend } from "./aws/logs.ts";
import { createMetrics, type Metrics } from "./aws/metrics.ts";
import { models } from "./aws/models.ts";
import { createQueues, type Queues } from "./aws/queues.ts";
import { stacksBackend } from "./aws/stacks.ts";
import { stsBackend } from "./aws/sts.ts";
import { createTables } from "./aws/tables.ts";
import type { TokenIssuer } from "./aws/token-issuer.ts";
import { cardKey } from "./card-key.ts";
import { wiringProblems } from "./checks.ts";
import { clock } from "./clock.ts";
import { startEventSource, startFunctions, startRuntime } from "./compute.ts";
import { crossStackProblems } from "./cross-stack.ts";
import { createDependencies, type Dependencies } from "./dependencies.ts";
import type { Pace } from "./event-sources.ts";
import { startHttpEntry } from "./http-entry.ts";
import { type Authority, createAuthority } from "./iam/authority.ts";
import { collectPolicies } from "./iam/policies.ts";
import { type Concurrency, createConcurrency, reservationProblems, reservedConcurrency } from "./lambda/concurrency.ts";
import type { RunningFunction } from "./lambda/function.ts";
import { sampleQueues } from "./measuring.ts";
import { executionOperatorPolicy, operatorPolicy } from "./operator.ts";
import { verificationOutput } from "./stage.ts";
import {
  a2aClient,
  executionOperatorRoleArn,
  lent,
  operatorRoleArn,
  stageName,
  verificationPlace,
  verificationRoleArn,
} from "./synthesized.ts";
import type { Assembly } from "./template/assembly.ts";
import { createResolver, type Resolver } from "./template/resolve.ts";
import { type EventSource, eventSourcesOf, functionsOf, runtimesOf } from "./template/wiring.ts";

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
  buckets: Buckets;
  values: CachedValues;
  /** By ARN. */
  functions: ReadonlyMap<string, RunningFunction>;
  concurrency: Concurrency;
  metrics: Metrics;
  agentCore: AgentCoreState;
  /** Of AgentCore. Can be changed at any time. */
  quotas: SessionQuotas;
  /** By ARN. */
  runtimes: ReadonlyMap<string, RunningRuntime>;
  /** Whose access key it is. */
  callerOf: Dependencies["callerOf"];
  /** Somebody who is none of what the templates run. */
  admit: Dependencies["admit"];
  /** An address of a template, as it is here. */
  moved: Dependencies["moved"];
  pace: Pace;
  fakeSlack: FakeSlack;
  /** Where the tables are, for whoever needs nobody's permission. */
  tablesUrl: string;
  eventsUrl: string;
  secrets: Record<string, string>;
  ask(request: { text: string; channel?: string }): PostedByFakePerson;
  /** What the bot has in the thread of a message. */
  answersTo(message: FakeSlackMessage): FakeSlackMessage[];
  /** Resolves to the first thing that `look` finds. Rejects with the problems, or after a time with what was waited for. */
  until<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T>;
  /** Like `until`, and whenever nothing is under way the clock moves to when the next message is due. */
  skipUntil<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T>;
  close(): Promise<void>;
};

const nobodyIssues: Pick<TokenIssuer, "issue"> = {
  issue: () => Promise.reject(new Error("This rehearsal issues no tokens.")),
};

const patienceMs = 40_000;
/** What is on its way to a function is under way too: on a busy machine each look gives it one turn. */
const looksBeforeSkip = 30;
const lookEveryMs = 5;

/** What the account over there was told to say. */
const trustOfLent = {
  Statement: {
    Effect: "Allow",
    Action: "sts:AssumeRole",
    Principal: { AWS: `arn:aws:iam::${verificationRoleArn.split(":")[4]}:root` },
    Condition: {
      ArnEquals: { "aws:PrincipalArn": verificationRoleArn },
      StringEquals: { "sts:ExternalId": lent.externalId },
    },
  },
};

type Wish = {
  assembly: Assembly;
  /** Of the Verification account; where absent, nobody must ask for a token. */
  issuer?: TokenIssuer;
  /** How soon a message comes again whose function was killed; as the templates have it where absent. */
  visibilitySeconds?: number;
  /** Before each redelivery of an event; Slack's own where absent. */
  retryDelaysMs?: readonly number[];
};

export async function startWorld(wish: Wish): Promise<World> {
  const opened: (() => unknown)[] = [];
  const close = async () => {
    for (const step of opened.splice(0).reverse()) await step();
  };
  try {
    return await start({ ...wish, opened, close });
  } catch (error) {
    await close();
    throw error;
  }
}

/** `opened` is what `close` ends, last first. */
async function start({
  assembly,
  issuer,
  visibilitySeconds,
  retryDelaysMs,
  opened,
  close,
}: Wish & {
  opened: (() => unknown)[];
  close: () => Promise<void>;
}): Promise<World> {
  const resolver = createResolver({ assembly });
  const policies = collectPolicies({
    resolver,
    trusts: { [lent.roleArn]: trustOfLent },
    roles: {
      [a2aClient.roleArn]: a2aClient.policy,
      [operatorRoleArn]: operatorPolicy({ resolver }),
      [executionOperatorRoleArn]: executionOperatorPolicy(),
    },
  });
  const authority = createAuthority({ policies });
  const declared = functionsOf({ assembly, resolver });
  const runtimes = runtimesOf({ assembly, resolver });
  const sources = eventSourcesOf({ resolver });
  const problems = wiringProblems({ resolver, policies, functions: declared, sources });
  problems.push(...crossStackProblems({ assembly, resolver, authority }));
  problems.push(...reservationProblems({ functions: declared }));
  for (const alarm of resolver.resources("AWS::CloudWatch::Alarm"))
    problems.push(...alarmProblems({ alarm, resolver, authority }));
  const lines: World["lines"] = [];
  const onLine = (from: string, line: string) => void lines.push({ from, line });
  const onProblem = (problem: string) => {
    if (!problems.includes(problem)) problems.push(problem);
  };

  const dynamodb = await startDynamoDbEmulator();
  opened.push(dynamodb.close);
  const queues = createQueues({ resolver, visibilitySeconds });
  const tables = await createTables({ endpoint: dynamodb.endpoint, resolver });
  const metrics = createMetrics();
  opened.push(sampleQueues({ metrics, resolver, queues }));
  const secrets = secretsOfStage();
  const values = keepValues({ resolver, secrets: managed(secrets), onProblem });
  const agentCore = { isDown: false };
  const quotas = { ...defaultQuotas };
  const runningRuntimes = new Map<string, RunningRuntime>();
  const gateway = await startGateway({
    authority,
    implied: impliedBy({ resolver }),
    backends: {
      sqs: queues.backend,
      s3: (request) => buckets.backend(request),
      dynamodb: tables,
      secretsmanager: values.secrets,
      ssm: values.parameters,
      bedrock: models,
      monitoring: cloudWatchBackend({ resolver, metrics }),
      logs: logsBackend({ resolver, functions: declared, lines }),
      cloudformation: stacksBackend({ assembly, resolver, moved: (text) => dependencies.moved(text) }),
      lambda: lambdaBackend({ functions: () => running }),
      "bedrock-agentcore": agentCoreBackend({ runtimes: runningRuntimes, state: agentCore, metrics }),
      sts: stsBackend({ issuer: issuer ?? nobodyIssues, onAssumed: (caller) => dependencies.admit(caller) }),
    },
    endpointArn: endpointArnOf({ runtimes }),
    secretArn: ({ id, caller: { account, region } }) => secretArn({ id, account, region }),
    onProblem,
  });
  opened.push(gateway.close);
  const { SLACK_SIGNING_SECRET: signingSecret, SLACK_BOT_TOKEN: botToken } = secrets;
  const fakeSlack = await startFakeSlack({
    signingSecret,
    botToken,
    ...(retryDelaysMs === undefined ? {} : { retryDelaysMs }),
  });
  opened.push(fakeSlack.close);

  const dependencies = createDependencies({ gateway, slackApiUrl: fakeSlack.apiUrl });
  const buckets = createBuckets({ resolver, callerOf: dependencies.callerOf, onProblem });
  const common = { authority, dependencies, metrics, onLine, onProblem };
  const concurrency = createConcurrency({ reserved: reservedConcurrency(declared) });
  const each = { functions: declared, resolver, calls: gateway.calls, concurrency };
  const { running, urls } = await startFunctions({ ...each, ...common });
  opened.push(...[...running.values(), ...urls].map((each) => each.close));
  for (const runtime of runtimes) {
    const started = startRuntime({ runtime, quotas, ...common });
    runningRuntimes.set(runtime.arn, started);
    opened.push(started.close);
  }
  const entry = await startHttpEntry({ resolver, authority, functions: running, metrics, onProblem });
  opened.push(entry.close);
  dependencies.move({ believed: entry.origin, actual: entry.url });
  const stop = new AbortController();
  const { signal } = stop;
  const hidden = (source: EventSource): EventSource =>
    visibilitySeconds === undefined ? source : { ...source, visibilityMs: visibilitySeconds * 1000 };
  const pace: Pace = { mostBatches: Number.POSITIVE_INFINITY };
  const others = { functions: running, resolver, gatewayUrl: gateway.url, pace, signal, dependencies, onProblem };
  const polling = sources.map((source) => startEventSource({ source: hidden(source), ...others }));
  opened.push(async () => {
    stop.abort();
    // What is under way ends with the instance that it runs in.
    await Promise.all([...running.values()].map((fn) => fn.close()));
    await Promise.all(polling);
  });
  opened.push(clock.onAdvance(queues.lookAgain));
  // Of the others an agent may be at work at a message, which is hidden for as long as that may take.
  const ownQueues = sources
    .map(({ queueArn }) => queueArn)
    .filter((arn) => arn.includes(`:${verificationPlace.account}:`));
  const skip = createSkip({ concurrency, queues, consumed: ownQueues });
  const eventsUrl = dependencies.moved(verificationOutput({ resolver }, "eventsUrl"));

  return {
    problems,
    lines,
    resolver,
    authority,
    gateway,
    queues,
    buckets,
    values,
    functions: running,
    concurrency,
    metrics,
    agentCore,
    quotas,
    runtimes: runningRuntimes,
    callerOf: dependencies.callerOf,
    admit: dependencies.admit,
    moved: dependencies.moved,
    pace,
    fakeSlack,
    tablesUrl: dynamodb.endpoint,
    eventsUrl,
    secrets,
    ask: ({ text, channel }) => fakeSlack.ask({ eventsUrl, text, ...(channel === undefined ? {} : { channel }) }),
    answersTo: (message) => fakeSlack.thread(message).filter(({ ts }) => ts !== message.ts),
    until: (what, look) => until({ what, look, problems }),
    skipUntil: (what, look) =>
      until({
        what,
        problems,
        async look() {
          const found = await look();
          if (found === undefined) await skip();
          return found;
        },
      }),
    close,
  };
}

/**
 * Moves the clock to when the next message is due, where no function of the Verification zone is at work and no message waits
 * that could be received. Agents may be at work: their time moves too.
 */
function createSkip({
  concurrency,
  queues,
  consumed,
}: {
  concurrency: Concurrency;
  queues: Queues;
  consumed: readonly string[];
}): () => Promise<void> {
  const isIdle = () => concurrency.underWay(verificationPlace.account) === 0 && dueInMs() > 0;
  const dueInMs = () => (queues.nextDueMs(consumed) ?? Number.NEGATIVE_INFINITY) - Date.now();
  let skipping: Promise<void> | undefined;
  const skip = async () => {
    for (let looks = 0; looks < looksBeforeSkip; looks++) {
      if (!isIdle()) return;
      await wait(lookEveryMs);
    }
    if (isIdle()) await clock.advance(dueInMs());
  };
  // Two stories at once must not both move the clock by the same.
  return () => {
    skipping ??= skip().finally(() => {
      skipping = undefined;
    });
    return skipping;
  };
}

async function until<T>({
  what,
  look,
  problems,
}: {
  what: string;
  look: () => T | undefined | Promise<T | undefined>;
  problems: readonly string[];
}): Promise<T> {
  const endMs = performance.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (problems.length > 0) throw new Error(problems.join("\n"));
    if (performance.now() > endMs) throw new Error(`In ${patienceMs / 1000} s there was no ${what}.`);
    await wait(50);
  }
}

function secretsOfStage() {
  return {
    SLACK_SIGNING_SECRET: randomBytes(16).toString("hex"),
    SLACK_BOT_TOKEN: "xoxb-of-the-rehearsal",
    EXECUTION_TOKEN: executionToken,
    CARD_KEY: cardKey,
  };
}

function managed(secrets: Record<string, string>): Record<string, string> {
  const named = Object.entries(secrets).map(
    ([env, value]) => [formatManagedSecretName({ stageName, env }), value] as const,
  );
  return Object.fromEntries(named);
}
