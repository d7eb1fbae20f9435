/** Runs everything that the templates of one kind describe, with a fake Slack in front. */
import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { formatManagedSecretName } from "@sekisho/config/stage-config.ts";
import { startFakeSlack } from "@sekisho/local/fake-slack/fake-slack.ts";
import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { startDynamoDbEmulator } from "../../doubles/aws/emulators.ts";
import { createParameters, type Parameters } from "../../doubles/aws/parameters.ts";
import { hangMs } from "../../tooling/hang.ts";
import { defaultQuotas, type RunningRuntime } from "./agent-runtime.ts";
import { agentCoreBackend, endpointArnOf, modelsBackend } from "./aws/bedrock.ts";
import { startGateway } from "./aws/gateway.ts";
import { impliedBy } from "./aws/implied.ts";
import { createMetrics, sampleQueues } from "./aws/metrics.ts";
import { cloudWatchBackend, lambdaBackend, stacksBackend } from "./aws/operator-services.ts";
import { createQueues, type Queues } from "./aws/queues.ts";
import { createBuckets, createTables, storeValues } from "./aws/stores.ts";
import { stsBackend } from "./aws/sts.ts";
import type { TokenIssuer } from "./aws/token-issuer.ts";
import { clock } from "./clock.ts";
import { createDependencies, startEventSource, startFunctions, startRuntime } from "./compute.ts";
import {
  alarmProblems,
  crossStackProblems,
  reservationProblems,
  wiringProblems,
} from "./deploy-checks.ts";
import type { Pace } from "./event-sources.ts";
import { startHttpEntry } from "./http-entries.ts";
import { createAuthority } from "./iam/authority.ts";
import { collectPolicies } from "./iam/policies.ts";
import { type Concurrency, createConcurrency, reservedConcurrency } from "./lambda/concurrency.ts";
import { operatorPolicy } from "./operator.ts";
import { verificationOutput } from "./stage.ts";
import { cardKey } from "./stories/a2a-clients.ts";
import {
  a2aClient,
  lent,
  operatorRoleArn,
  stageName,
  verificationPlace,
  verificationRoleArn,
} from "./synthesized.ts";
import type { Assembly } from "./template/assembly.ts";
import { createResolver } from "./template/resolve.ts";
import { openStack } from "./template/stack-updates.ts";
import { eventSourcesOf, functionsOf, runtimesOf } from "./template/wiring.ts";

export const executionToken = "token-of-the-host-elsewhere";

export type World = Awaited<ReturnType<typeof startWorld>>;

const nobodyIssues: Pick<TokenIssuer, "issue"> = {
  issue: () => Promise.reject(new Error("This rehearsal issues no tokens.")),
};

/** The logical id of the parameter in which the version before kept the live settings. */
const formerSettingsId = "LiveSettings";
/** A message may be on its way to a function. Each look gives it one turn, even on a busy machine. */
const looksBeforeSkip = 30;
const lookEveryMs = 5;

/** The trust policy of the lent role, in the account that lends it. */
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
  /** The issuer of the Verification account. Absent: nobody may ask for a token. */
  issuer?: TokenIssuer;
  /** Replaces the visibility timeouts of the templates. */
  visibilitySeconds?: number;
  /** The delays before redeliveries of an event. Default: Slack's own. */
  retryDelaysMs?: readonly number[];
  /** Live settings that the version before has pushed. Since then, a deploy has changed the tags of the stack. Absent: none. */
  formerSettings?: unknown;
};

export async function startWorld(wish: Wish) {
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (const step of closers.splice(0).reverse()) await step();
  };
  try {
    return await start({ ...wish, opened: closers, close });
  } catch (error) {
    await close();
    throw error;
  }
}

/** `close` ends what is in `opened`, last first. */
async function start({
  assembly,
  issuer,
  visibilitySeconds,
  retryDelaysMs,
  formerSettings,
  opened: closers,
  close,
}: Wish & {
  opened: (() => unknown)[];
  close: () => Promise<void>;
}) {
  const resolver = createResolver({ assembly });
  const policies = collectPolicies({
    resolver,
    trusts: { [lent.roleArn]: trustOfLent },
    roles: {
      [a2aClient.roleArn]: a2aClient.policy,
      [operatorRoleArn]: operatorPolicy({ resolver }),
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
  const lines: { from: string; line: string }[] = [];
  const onLine = (from: string, line: string) => void lines.push({ from, line });
  const onProblem = (problem: string) => {
    if (!problems.includes(problem)) problems.push(problem);
  };

  const dynamodb = await startDynamoDbEmulator();
  closers.push(dynamodb.close);
  const queues = createQueues({ resolver, visibilitySeconds });
  const tables = await createTables({ endpoint: dynamodb.endpoint, resolver });
  const metrics = createMetrics();
  closers.push(sampleQueues({ metrics, resolver, queues }));
  const secrets = secretsOfStage();
  const parameters = createParameters();
  await deployStacks({ assembly, parameters, formerSettings });
  const values = storeValues({ secrets: managed(secrets), parameters, onProblem });
  const agentCore = { isDown: false };
  const quotas = { ...defaultQuotas };
  const runningRuntimes = new Map<string, RunningRuntime>();
  const gateway = await startGateway({
    authority,
    implied: impliedBy({ resolver }),
    backends: {
      sqs: queues.backend,
      s3: (request) => buckets(request),
      dynamodb: tables,
      secretsmanager: values.secrets,
      ssm: values.parameters,
      bedrock: modelsBackend,
      monitoring: cloudWatchBackend({ resolver, metrics }),
      cloudformation: stacksBackend({
        assembly,
        resolver,
        moved: (text) => dependencies.moved(text),
      }),
      lambda: lambdaBackend({ functions: () => running }),
      "bedrock-agentcore": agentCoreBackend({
        runtimes: runningRuntimes,
        state: agentCore,
        metrics,
      }),
      sts: stsBackend({
        issuer: issuer ?? nobodyIssues,
        onAssumed: (caller) => dependencies.admit(caller),
      }),
    },
    endpointArn: endpointArnOf({ runtimes }),
    onProblem,
  });
  closers.push(gateway.close);
  const { SLACK_SIGNING_SECRET: signingSecret, SLACK_BOT_TOKEN: botToken } = secrets;
  const fakeSlack = await startFakeSlack({
    signingSecret,
    botToken,
    triggerLifeMs: hangMs,
    answerTimeoutMs: hangMs,
    ...(retryDelaysMs === undefined ? {} : { retryDelaysMs }),
  });
  closers.push(fakeSlack.close);

  const dependencies = createDependencies({ gateway, slackApiUrl: fakeSlack.apiUrl });
  const buckets = createBuckets({ resolver, callerOf: dependencies.callerOf, onProblem });
  const common = { authority, dependencies, metrics, onLine, onProblem };
  const concurrency = createConcurrency({ reserved: reservedConcurrency(declared) });
  const each = { functions: declared, resolver, calls: gateway.calls, concurrency };
  const { running, urls } = await startFunctions({ ...each, ...common });
  closers.push(...[...running.values(), ...urls].map((each) => each.close));
  for (const runtime of runtimes) {
    const started = startRuntime({ runtime, quotas, resolver, ...common });
    runningRuntimes.set(runtime.arn, started);
    closers.push(started.close);
  }
  const entry = await startHttpEntry({
    resolver,
    authority,
    functions: running,
    metrics,
    onProblem,
  });
  closers.push(entry.close);
  dependencies.move({ believed: entry.origin, actual: entry.url });
  const stop = new AbortController();
  const { signal } = stop;
  const hidden = visibilitySeconds !== undefined && { visibilityMs: visibilitySeconds * 1000 };
  const pace: Pace = { mostBatches: Number.POSITIVE_INFINITY };
  const others = {
    functions: running,
    resolver,
    gatewayUrl: gateway.url,
    pace,
    signal,
    dependencies,
    onProblem,
  };
  const polling = sources.map((source) =>
    startEventSource({ source: { ...source, ...hidden }, ...others }),
  );
  closers.push(async () => {
    stop.abort();
    // Invocations end with their instances.
    await Promise.all([...running.values()].map((fn) => fn.close()));
    await Promise.all(polling);
  });
  closers.push(clock.onAdvance(queues.lookAgain));
  // Queues of the Execution account do not count: a message there stays hidden for as long as its agent works.
  const ownQueues = sources
    .map(({ queueArn }) => queueArn)
    .filter((arn) => arn.includes(`:${verificationPlace.account}:`));
  const skip = createSkip({ concurrency, queues, consumed: ownQueues });
  const eventsUrl = dependencies.moved(verificationOutput({ resolver }, "eventsUrl"));

  type Look<T> = () => T | undefined | Promise<T | undefined>;

  return {
    /** Why a deploy of these templates would not work. A story that meets one fails. */
    problems,
    /** The output of functions and runtimes, by label. */
    lines,
    resolver,
    authority,
    gateway,
    queues,
    values,
    /** By ARN. */
    functions: running,
    concurrency,
    metrics,
    agentCore,
    /** The quotas of AgentCore. May change at any time. */
    quotas,
    /** By ARN. */
    runtimes: runningRuntimes,
    dependencies,
    pace,
    fakeSlack,
    /** The address of the tables' emulator, which checks no permission. */
    tablesUrl: dynamodb.endpoint,
    eventsUrl,
    secrets,
    ask: ({ text, channel }: { text: string; channel?: string }) =>
      fakeSlack.ask({ eventsUrl, text, ...(channel === undefined ? {} : { channel }) }),
    /** Returns what the bot posted in the thread of a message. */
    answersTo: (message: FakeSlackMessage) =>
      fakeSlack.thread(message).filter(({ ts }) => ts !== message.ts),
    /** Resolves to the first thing that `look` finds. Rejects with the problems, or with `what` after `hangMs`. */
    until: <T>(what: string, look: Look<T>): Promise<T> => until({ what, look, problems }),
    /** Like `until`. Whenever nothing is under way, the clock moves to when the next message is due. */
    skipUntil: <T>(what: string, look: Look<T>): Promise<T> =>
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

type Deployment = { assembly: Assembly; parameters: Parameters; formerSettings: unknown };

async function deployStacks({ assembly, parameters, formerSettings }: Deployment): Promise<void> {
  for (const { template, ...place } of assembly.stacks) {
    const stack = openStack({ ...place, parameters });
    await stack.deploy({ template, tags: {} });
    if (formerSettings === undefined || template.Resources[formerSettingsId] === undefined)
      continue;
    const value = JSON.stringify(formerSettings);
    parameters.put({ name: stack.nameOf(formerSettingsId), value, user: operatorRoleArn });
    await stack.deploy({ template, tags: { "cost-centre": "1" } });
  }
}

/**
 * Moves the clock to when the next message is due, if no function of the Verification zone is at work and no message can be
 * received. Agents may be at work: their time moves too.
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
  // Two stories at once must not both move the clock.
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
  const endMs = performance.now() + hangMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (problems.length > 0) throw new Error(problems.join("\n"));
    if (performance.now() > endMs) throw new Error(`There was no ${what}.`);
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
