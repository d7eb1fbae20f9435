/** The worker of a stage on AWS: made of the deployed configuration, and anew where the live settings have changed. */
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
import { openLambdaTelemetry } from "../../shared/telemetry/lambda-telemetry.ts";
import type { WorkerEnvironment } from "../config/worker-environment.ts";
import { createDestinations } from "../destinations.ts";
import { createS3FileStore } from "../files/s3-store.ts";
import { createStageTokens } from "../installations/stage-tokens.ts";
import { createSlackApi } from "../slack/web-api.ts";
import { installationOf, type Task } from "../task/task.ts";
import type { WorkerDestination } from "./calls.ts";
import { createConfiguredWorker, zoneStores } from "./configured-worker.ts";
import { createLiveConfig, readParameter } from "./live-config.ts";
import type { Worker } from "./worker.ts";

export type StageWorker = {
  /** The worker for the messages of one invocation. Never rejects. */
  current(): Promise<Worker>;
  /** Resolves when nothing goes on in the background, and spans are sent. */
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
  const { aws, table, routesParameter, filesBucket, installationsPrefix } = environment;
  const { slackApiUrl: apiUrl, executionAddress: address } = environment;
  const deployed = parseConfig({ json: config });
  const ssm = createJsonCall({ ...aws, service: "ssm", version: "1.1" });
  const live = createLiveConfig({ deployed, read: readParameter({ call: ssm, name: routesParameter }), log });

  const readManagedSecret = createReadManagedSecret(aws);
  const readSecret = (reference: SecretReference) => readManagedSecret({ id: managedIdOf(reference) });
  const telemetry = openLambdaTelemetry({ config: deployed.telemetry, service: "verification", readSecret, aws, log });
  const tokens = createStageTokens({ slack: deployed.slack, aws, readManagedSecret, installationsPrefix, apiUrl });
  const slack = createSlackApi({ tokens, apiUrl, log, telemetry });
  const botTokenOf = (task: Task) => tokens.tokenOf(installationOf(task));

  const client = new DynamoDBClient(dynamoDbSettings);
  const stores = zoneStores((parse) => createDynamoTaskStore({ client, table, parse }));
  const fileStore = createS3FileStore({ bucket: filesBucket, aws });

  function build(settings: Config): Built {
    const config = withExecutionAddress({ config: settings, address });
    const { credentials, region } = aws;
    const destinations = createDestinations({ config, readSecret, botTokenOf, credentials, region, log, telemetry });
    const shared = { stores, queue, slack, tokens, slackApiUrl: apiUrl, fileStore, log, telemetry };
    const worker = createConfiguredWorker({ config, destinations, queueSystem: "aws_sqs", ...shared });
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
    settled: async () => {
      await Promise.all([live.settled(), telemetry.flush()]);
    },
  };
}

type Built = { settings: Config; destinations: ReadonlyMap<string, WorkerDestination>; worker: Worker };

function managedIdOf(reference: SecretReference): string {
  if ("secretsManager" in reference) return reference.secretsManager;
  throw new Error(`${reference.env} is an environment variable's name; on AWS a secret is one of Secrets Manager.`);
}
