/** The worker of a stage on AWS: made of the deployed configuration, and anew where the live settings have changed. */
import { randomUUID } from "node:crypto";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { createJsonCall } from "../../shared/aws/json-call.ts";
import { createReadManagedSecret } from "../../shared/aws/secrets-manager.ts";
import { parseConfig } from "../../shared/config/load.ts";
import type { Config } from "../../shared/config/schema.ts";
import { withExecutionAddress } from "../../shared/config/stage-config.ts";
import type { SecretReference } from "../../shared/config/values.ts";
import { dynamoDbSettings } from "../../shared/engine/aws/client.ts";
import { createDynamoTaskStore } from "../../shared/engine/aws/task-store.ts";
import type { TaskQueue } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import type { WorkerEnvironment } from "../config/worker-environment.ts";
import { createDestinations } from "../destinations.ts";
import { createKeptSecret } from "../kept-secret.ts";
import { createPolicy } from "../policy.ts";
import { createAnswerText } from "../slack/answer-text.ts";
import { createSlackApi } from "../slack/web-api.ts";
import { taskSchema } from "../task/task.ts";
import { threadSchema } from "../task/thread.ts";
import { createRunAct, type WorkerDestination } from "./acts.ts";
import { createLiveConfig, readParameter } from "./live-config.ts";
import { createThreads } from "./threads.ts";
import { createWorker, type Worker } from "./worker.ts";

/** A rotated bot token is used after a minute, or at once where Slack takes the old one no longer. */
const botTokenKeepMs = 60_000;

export type StageWorker = {
  /** The worker for the messages of one invocation. Never rejects. */
  current(): Promise<Worker>;
  /** Resolves when nothing goes on in the background. */
  settled(): Promise<void>;
};

/** `config` is the stage's configuration as JSON. Throws a ConfigError where it cannot be used. */
export function createStageWorker({
  config,
  environment,
  queue,
  log,
}: {
  config: unknown;
  environment: WorkerEnvironment;
  queue: TaskQueue;
  log: Log;
}): StageWorker {
  const { aws, table, routesParameter, slackApiUrl, executionAddress: address } = environment;
  const deployed = parseConfig({ json: config });
  const ssm = createJsonCall({ ...aws, service: "ssm", version: "1.1" });
  const live = createLiveConfig({ deployed, read: readParameter({ call: ssm, name: routesParameter }), log });

  const readManagedSecret = createReadManagedSecret(aws);
  const botTokenId = managedIdOf(deployed.slack.botToken);
  const botToken = createKeptSecret({
    readSecret: () => readManagedSecret({ id: botTokenId }),
    readTimeoutMs: 2000,
    keepMs: botTokenKeepMs,
    rereadAfterMs: 0,
  });
  // Authorizers keep their tokens until a 401 comes, so that they must get each one anew.
  const readSecret = async (reference: SecretReference) => {
    const id = managedIdOf(reference);
    return id === botTokenId ? botToken.current() : readManagedSecret({ id });
  };

  const client = new DynamoDBClient(dynamoDbSettings);
  const store = createDynamoTaskStore({ client, table, parse: (json) => taskSchema.parse(json) });
  const threadStore = createDynamoTaskStore({ client, table, parse: (json) => threadSchema.parse(json) });
  const threads = createThreads({ store: threadStore, queue, now: Date.now });
  const slack = createSlackApi({
    token: botToken.current,
    newerToken: botToken.newerThan,
    apiUrl: slackApiUrl,
    log,
  });
  const answerText = createAnswerText({ locale: deployed.slack.locale });

  function build(settings: Config): Built {
    const located = withExecutionAddress({ config: settings, address });
    const { credentials, region } = aws;
    const destinations = createDestinations({ config: located, readSecret, credentials, region, log });
    const worker = createWorker({
      store,
      queue,
      policy: createPolicy({ config: located }),
      runAct: createRunAct({ slack, threads, destinations, answerText, newId: randomUUID }),
      leaseMs: located.limits.leaseMs,
      log,
      newId: randomUUID,
    });
    return { settings, destinations, worker };
  }

  let built: Built | undefined;
  return {
    async current() {
      const settings = await live.current();
      if (built?.settings === settings) return built.worker;
      const former = built;
      built = build(settings);
      // Between two invocations: of the calls of the former one none is under way any more.
      await Promise.allSettled(
        [...(former?.destinations.values() ?? [])].map((destination) => destination.client.close()),
      );
      return built.worker;
    },
    settled: () => live.settled(),
  };
}

type Built = { settings: Config; destinations: ReadonlyMap<string, WorkerDestination>; worker: Worker };

function managedIdOf(reference: SecretReference): string {
  if ("secretsManager" in reference) return reference.secretsManager;
  throw new Error(`${reference.env} is an environment variable's name; on AWS a secret is one of Secrets Manager.`);
}
