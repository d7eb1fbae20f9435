/** Everything that the templates of one kind describe, running, with a Slack in front. */
import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { type SlackStandIn, startSlackStandIn } from "../../bin/local/slack-stand-in.ts";
import type { StandInMessage } from "../../bin/local/stand-in/messages.ts";
import type { Asked } from "../../bin/local/stand-in/persons.ts";
import { managedSecretName } from "../../lambdas/shared/config/stage-config.ts";
import { startDynamoDbEmulator, startSqsEmulator } from "../doubles/aws/emulators.ts";
import type { RunningRuntime } from "./agent-runtime.ts";
import { alarmProblems } from "./alarms.ts";
import { agentCoreBackend, endpointArnOf } from "./aws/agentcore.ts";
import { type Buckets, createBuckets } from "./aws/buckets.ts";
import { type Gateway, startGateway } from "./aws/gateway.ts";
import { impliedBy } from "./aws/implied.ts";
import { type KeptValues, keepValues, secretArn } from "./aws/kept-values.ts";
import { models } from "./aws/models.ts";
import { createQueues, type Queues } from "./aws/queues.ts";
import { stsBackend } from "./aws/sts.ts";
import { createTables } from "./aws/tables.ts";
import type { TokenIssuer } from "./aws/token-issuer.ts";
import { cardKey } from "./card-key.ts";
import { wiringProblems } from "./checks.ts";
import { startEventSource, startFunctions, startRuntime } from "./compute.ts";
import { crossStackProblems } from "./cross-stack.ts";
import type { Pace } from "./event-sources.ts";
import { startHttpEntry } from "./http-entry.ts";
import { type Authority, createAuthority } from "./iam/authority.ts";
import { collectPolicies } from "./iam/policies.ts";
import type { RunningFunction } from "./lambda/function.ts";
import { verificationOutput } from "./stage.ts";
import { createSurroundings, type Surroundings } from "./surroundings.ts";
import { lent, stageName, verificationRoleArn } from "./synthesized.ts";
import type { Assembly } from "./template/assembly.ts";
import { createResolver, type Resolver } from "./template/resolve.ts";
import { eventSourcesOf, functionsOf, runtimesOf } from "./template/wiring.ts";

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
  values: KeptValues;
  /** By ARN. */
  functions: ReadonlyMap<string, RunningFunction>;
  /** Whose access key it is. */
  callerOf: Surroundings["callerOf"];
  /** Somebody who is none of what the templates run. */
  admit: Surroundings["admit"];
  /** An address of a template, as it is here. */
  moved: Surroundings["moved"];
  pace: Pace;
  standIn: SlackStandIn;
  /** Where the tables are, for whoever needs nobody's permission. */
  tablesUrl: string;
  eventsUrl: string;
  secrets: Record<string, string>;
  ask(request: { text: string; channel?: string }): Asked;
  /** What the bot has in the thread of a message. */
  answersTo(message: StandInMessage): StandInMessage[];
  /** Resolves to the first thing that `look` finds. Rejects with the problems, or after a time with what was waited for. */
  until<T>(what: string, look: () => T | undefined | Promise<T | undefined>): Promise<T>;
  close(): Promise<void>;
};

const patienceMs = 40_000;

/** What the account over there was told to say. */
const trustOfLent = {
  Statement: {
    Effect: "Allow",
    Action: "sts:AssumeRole",
    Principal: { AWS: verificationRoleArn },
    Condition: { StringEquals: { "sts:ExternalId": lent.externalId } },
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
  const opened: (() => Promise<unknown>)[] = [];
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
  opened: (() => Promise<unknown>)[];
  close: () => Promise<void>;
}): Promise<World> {
  const resolver = createResolver({ assembly });
  const policies = collectPolicies({ resolver, trusts: { [lent.roleArn]: trustOfLent } });
  const authority = createAuthority({ policies });
  const declared = functionsOf({ assembly, resolver });
  const runtimes = runtimesOf({ assembly, resolver });
  const sources = eventSourcesOf({ resolver });
  const problems = wiringProblems({ resolver, policies, functions: declared, sources });
  problems.push(...crossStackProblems({ assembly, resolver, authority }));
  for (const alarm of resolver.resources("AWS::CloudWatch::Alarm"))
    problems.push(...alarmProblems({ alarm, resolver, authority }));
  const lines: World["lines"] = [];
  const onLine = (from: string, line: string) => void lines.push({ from, line });
  const onProblem = (problem: string) => {
    if (!problems.includes(problem)) problems.push(problem);
  };

  const [sqs, dynamodb] = await Promise.all([startSqsEmulator(), startDynamoDbEmulator()]);
  opened.push(sqs.close, dynamodb.close);
  const [queues, tables] = await Promise.all([
    createQueues({ endpoint: sqs.endpoint, resolver, visibilitySeconds }),
    createTables({ endpoint: dynamodb.endpoint, resolver }),
  ]);
  const secrets = secretsOfStage();
  const values = keepValues({ resolver, secrets: managed(secrets), onProblem });
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
      "bedrock-agentcore": agentCoreBackend({ runtimes: runningRuntimes }),
      ...(issuer && { sts: stsBackend({ issuer, onAssumed: (caller) => surroundings.admit(caller) }) }),
    },
    endpointArn: endpointArnOf({ runtimes }),
    secretArn: ({ id, caller: { account, region } }) => secretArn({ id, account, region }),
    onProblem,
  });
  opened.push(gateway.close);
  const { SLACK_SIGNING_SECRET: signingSecret, SLACK_BOT_TOKEN: botToken } = secrets;
  const standIn = await startSlackStandIn({
    signingSecret,
    botToken,
    ...(retryDelaysMs === undefined ? {} : { retryDelaysMs }),
  });
  opened.push(standIn.close);

  const surroundings = createSurroundings({ gateway, slackApiUrl: standIn.apiUrl });
  const buckets = createBuckets({ resolver, callerOf: surroundings.callerOf, onProblem });
  const common = { authority, surroundings, onLine, onProblem };
  const { running, urls } = await startFunctions({ functions: declared, resolver, calls: gateway.calls, ...common });
  opened.push(...[...running.values(), ...urls].map((each) => each.close));
  for (const runtime of runtimes) {
    const started = startRuntime({ runtime, ...common });
    runningRuntimes.set(runtime.arn, started);
    opened.push(started.close);
  }
  const entry = await startHttpEntry({ resolver, authority, functions: running, onProblem });
  opened.push(entry.close);
  surroundings.move({ believed: entry.origin, actual: entry.url });
  const stop = new AbortController();
  const { signal } = stop;
  const pace: Pace = { mostBatches: Number.POSITIVE_INFINITY };
  const each = { functions: running, resolver, gatewayUrl: gateway.url, pace, signal, surroundings, onProblem };
  const polling = sources.map((source) => startEventSource({ source, ...each }));
  opened.push(async () => {
    stop.abort();
    // What is under way ends with the instance that it runs in.
    await Promise.all([...running.values()].map((fn) => fn.close()));
    await Promise.all(polling);
  });
  const eventsUrl = surroundings.moved(verificationOutput({ resolver }, "eventsUrl"));

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
    callerOf: surroundings.callerOf,
    admit: surroundings.admit,
    moved: surroundings.moved,
    pace,
    standIn,
    tablesUrl: dynamodb.endpoint,
    eventsUrl,
    secrets,
    ask: ({ text, channel }) => standIn.ask({ eventsUrl, text, ...(channel === undefined ? {} : { channel }) }),
    answersTo: (message) => standIn.thread(message).filter(({ ts }) => ts !== message.ts),
    until: (what, look) => until({ what, look, problems }),
    close,
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
  const endMs = Date.now() + patienceMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (problems.length > 0) throw new Error(problems.join("\n"));
    if (Date.now() > endMs) throw new Error(`In ${patienceMs / 1000} s there was no ${what}.`);
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
  const named = Object.entries(secrets).map(([env, value]) => [managedSecretName({ stageName, env }), value] as const);
  return Object.fromEntries(named);
}
