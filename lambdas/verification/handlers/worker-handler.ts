/** The worker's entry on Lambda: moves each task of an SQS batch one step, or wakes the tasks that completion pushes name. */

import type { Config } from "@sekisho/config/schema.ts";
import { withExecutionAddress } from "@sekisho/config/stage-config.ts";
import { createReadStageSecret } from "@sekisho/config/stage-secrets.ts";
import { openLambdaTelemetry } from "@sekisho/config/telemetry/lambda-telemetry.ts";
import { isOperatorInvocation } from "@sekisho/runtime/aws/operator-alias.ts";
import { createReadManagedSecret } from "@sekisho/runtime/aws/secrets-manager.ts";
import {
  type BatchResponse,
  createRetryLater,
  endingSignal,
  handleBatch,
  type InvocationContext,
  parseBatch,
  type SqsRecord,
} from "@sekisho/runtime/engine/aws/batch.ts";
import { openDynamoDb, openSqs } from "@sekisho/runtime/engine/aws/client.ts";
import { createSqsQueue } from "@sekisho/runtime/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { createLog, type Log } from "@sekisho/runtime/log.ts";
import { createOperatorHandler, type OperatorDependencies } from "../checks/answer-operator.ts";
import {
  type DestinationsAnswer,
  readOperatorRequest,
  type WorkerAnswer,
} from "../checks/operator-call.ts";
import { createReadFormer, openSsm } from "../config/former-settings.ts";
import { createReadLiveSettings, parseStoredSettings } from "../config/stored-settings.ts";
import { readWorkerEnvironment, type WorkerEnvironment } from "../config/worker-environment.ts";
import type { WorkerDestination } from "../destinations.ts";
import { createDestinations } from "../destinations.ts";
import { createArtifactFetch } from "../files/artifact-fetch.ts";
import { createFiles } from "../files/create-files.ts";
import { createS3FileStore } from "../files/s3-store.ts";
import { createFindTeam } from "../installations/find-team.ts";
import { createStageTokens } from "../installations/managed-installations.ts";
import { createSlackApi } from "../slack/api/web-api.ts";
import { toStateBucket } from "../task/buckets.ts";
import { installationOf, type Task } from "../task/task.ts";
import { createLiveConfig } from "../worker/live-config.ts";
import { readQueuedIds } from "../worker/messages/queued-ids.ts";
import { InterruptedStep } from "../worker/step/lease.ts";
import { createVerificationWorker, openWorkerStores } from "../worker/verification-worker.ts";
import type { Worker } from "../worker/worker.ts";
import { openStageAskerTokens } from "./asker-tokens.ts";

export type VerificationWorkerHandler = {
  (event: { Records: readonly unknown[] }, context: InvocationContext): Promise<BatchResponse>;
  /** An invocation may carry any event. */
  (
    event: unknown,
    context: InvocationContext,
  ): Promise<BatchResponse | DestinationsAnswer | WorkerAnswer>;
};

/** The time reserved at the end of the invocation for the answer to an operator. */
const graceMs = 10_000;

/**
 * `config` is the stage's configuration. Throws at once if the environment is invalid.
 *
 * The queue of a record decides how it is handled, never its content, because another zone writes to the completion queue. A record from any
 * queue but the zone's own can only be a completion push. Its attributes are ignored: a delay in them would send it to the zone's own queue.
 *
 * The alias `operator` accepts operator requests only, and the function itself accepts batches only. So a permission on the alias is not
 * enough to forge a batch, and no message can pass as an operator request. Everything else is refused.
 */
export function createVerificationWorkerHandler({
  config,
}: {
  config: Config;
}): VerificationWorkerHandler {
  const environment = readWorkerEnvironment();
  const { queueUrl, queueArn, logs, aws } = environment;
  const log = createLog({ service: "verification", ...logs });
  const client = openSqs(aws);
  const queue = createSqsQueue({ client, queueUrl });
  const retryLater = createRetryLater({ client, queueUrl, idsOf: readQueuedIds, log });
  const stage = createStageWorker({ config, environment, queue, log });
  const isOwn = ({ eventSourceARN }: SqsRecord) => eventSourceARN === queueArn;

  const answerOperator = createOperatorHandler({
    ...stage.operator,
    probeQueue: ({ signal }) =>
      client.call(
        "GetQueueAttributes",
        { QueueUrl: queueUrl, AttributeNames: ["QueueArn"] },
        { signal },
      ),
  });

  async function handleMessages(event: unknown, signal: AbortSignal): Promise<BatchResponse> {
    const worker = await stage.current();
    return handleBatch({
      batch: parseBatch(event).map((record) =>
        isOwn(record) ? record : { ...record, messageAttributes: {} },
      ),
      handle: async (record) => {
        const message = { body: record.body, signal };
        await (isOwn(record) ? worker.handle(message) : worker.completion(message));
      },
      onFailure: async (record, reason) => {
        const notBeforeMs = reason instanceof InterruptedStep ? reason.leaseUntilMs : 0;
        if (isOwn(record)) await retryLater({ ...record, notBeforeMs });
      },
      queue,
      idsOf: readQueuedIds,
      log,
    });
  }

  function handler(
    event: { Records: readonly unknown[] },
    context: InvocationContext,
  ): Promise<BatchResponse>;
  function handler(
    event: unknown,
    context: InvocationContext,
  ): ReturnType<VerificationWorkerHandler>;
  async function handler(
    event: unknown,
    context: InvocationContext,
  ): ReturnType<VerificationWorkerHandler> {
    const { signal, end } = endingSignal({ context });
    try {
      if (!isOperatorInvocation(context)) {
        if (isBatch(event)) return await handleMessages(event, signal);
        throw new UnknownEventError(
          "The event is not an SQS batch. Operators must invoke the function's alias.",
        );
      }
      const request = readOperatorRequest(event);
      if (request === undefined)
        throw new UnknownEventError("The event is not an operator request.");
      const remainingMs = context.getRemainingTimeInMillis() - graceMs;
      return await answerOperator({ request, remainingMs, signal });
    } finally {
      end();
      await stage.settled();
    }
  }
  return handler;
}

class UnknownEventError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UnknownEventError";
  }
}

function isBatch(event: unknown): boolean {
  return typeof event === "object" && event !== null && "Records" in event;
}

type StageWorker = {
  /** Returns the worker for one invocation. Builds a new one if the live settings have changed. Never rejects. */
  current(): Promise<Worker>;
  /** The dependencies of operator requests, except the queue. */
  operator: Omit<OperatorDependencies, "probeQueue">;
  /** Resolves when no background work is left and all spans are sent. */
  settled(): Promise<void>;
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
function createStageWorker(options: {
  config: Config;
  environment: WorkerEnvironment;
  queue: TaskQueue;
  log: Log;
}): StageWorker {
  const { config: deployedConfig, environment, queue, log } = options;
  const { aws, table, formerSettings, filesBucket, installationsPrefix } = environment;
  const { slackApiUrl: apiUrl, executionAddress: address } = environment;

  const readManagedSecret = createReadManagedSecret(aws);
  const readSecret = createReadStageSecret(aws);
  const telemetry = openLambdaTelemetry({
    config: deployedConfig.telemetry,
    service: "verification",
    readSecret,
    aws,
    log,
  });
  const teamOf = createFindTeam({ apiUrl });
  const tokens = createStageTokens({
    slack: deployedConfig.slack,
    aws,
    readManagedSecret,
    installationsPrefix,
    teamOf,
  });
  const { forwards } = deployedConfig.slack.context;
  const slack = createSlackApi({ tokens, apiUrl, forwards, log, telemetry });
  const botTokenOf = (task: Task) => tokens.tokenOf(installationOf(task));

  const askerTokens = openStageAskerTokens({
    asker: deployedConfig.asker,
    environment,
    metrics: telemetry.metrics,
  });
  const client = openDynamoDb(aws);
  const stores = openWorkerStores((parse) =>
    createDynamoTaskStore({ client, table, parse, hasPrincipals: true, bucketOf: toStateBucket }),
  );
  const settingsStore = createDynamoTaskStore({
    client,
    table,
    parse: parseStoredSettings,
    bucketOf: toStateBucket,
  });
  const readFormer = createReadFormer({ ssm: openSsm(aws), name: formerSettings });
  const readLiveSettings = createReadLiveSettings({ store: settingsStore, readFormer, log });
  const live = createLiveConfig({ deployed: deployedConfig, read: readLiveSettings, log });
  const engine = { ...stores, queue, queueSystem: "aws_sqs" as const };
  const fileStore = createS3FileStore({ bucket: filesBucket, aws });

  function build(settings: Config): Built {
    const config = withExecutionAddress({ config: settings, address });
    const { credentials, region } = aws;
    const destinations = createDestinations({
      config,
      readSecret,
      botTokenOf,
      askerTokens,
      credentials,
      region,
      log,
      telemetry,
    });
    const token = { token: tokens.tokenOf, newerToken: tokens.readNewerToken };
    const publicFetch = createArtifactFetch(config);
    const files = createFiles({
      slack,
      ...token,
      apiUrl,
      store: fileStore,
      publicFetch,
      ...config.files,
      log,
    });
    const worker = createVerificationWorker({
      config,
      engine,
      slack,
      files,
      destinations,
      log,
      telemetry,
    });
    return { settings, destinations, worker };
  }

  let builtWorker: Built | undefined;
  return {
    async current() {
      const settings = await live.current();
      if (builtWorker?.settings === settings) return builtWorker.worker;
      const previous = builtWorker;
      builtWorker = build(settings);
      // This runs between two invocations, so the previous worker has no running calls.
      await Promise.allSettled(
        [...(previous?.destinations.values() ?? [])].map(({ client }) => client.close()),
      );
      return builtWorker.worker;
    },
    operator: {
      async readEffectiveConfig() {
        const config = withExecutionAddress({ config: await live.current(), address });
        return { config, liveSettings: live.state() };
      },
      readSecret,
      askerTokens,
      slackApiUrl: apiUrl,
      aws,
      probeStore: ({ requestId }) => stores.store.get({ id: requestId }),
      log,
    },
    settled: async () => {
      await Promise.all([live.waitForRead(), telemetry.flush()]);
    },
  };
}

type Built = {
  settings: Config;
  destinations: ReadonlyMap<string, WorkerDestination>;
  worker: Worker;
};
