/** The Verification zone: entry, ingress, queues, worker, handler of dead letters, task table, settings, alarms. */
import { CfnOutput, Duration, Stack, type StackProps } from "aws-cdk-lib";
import { Role } from "aws-cdk-lib/aws-iam";
import { Alias } from "aws-cdk-lib/aws-lambda";
import { CfnParameter as SsmParameter } from "aws-cdk-lib/aws-ssm";
import type { Construct } from "constructs";
import { createFingerprints } from "../../lambdas/shared/config/live-settings.ts";
import { operatorAlias } from "../../lambdas/shared/config/aws-environment.ts";
import { findExecutionPlace } from "../../lambdas/shared/config/stage-config.ts";
import type { SecretReference } from "../../lambdas/shared/config/values.ts";
import { createAlarms } from "./constructs/alarms.ts";
import { createCompletionQueue } from "./constructs/completions.ts";
import { destinationSecrets, permitDestinations } from "./constructs/destination-permissions.ts";
import { logEnvironment, metricsEnvironment } from "./constructs/environment.ts";
import { createFileBucket, permitFiles } from "./constructs/file-bucket.ts";
import { createInstallFlow } from "./constructs/install-flow.ts";
import { consumeMessages, createNodeFunction } from "./constructs/node-function.ts";
import {
  consumePermission,
  keyPermission,
  optionalSecretPermission,
  parameterPermission,
  permitReadSecretsBelow,
  permitSpans,
  retryPermission,
  secretsPermission,
  sendPermission,
  tablePermission,
} from "./constructs/permissions.ts";
import { createSlackEntry } from "./constructs/slack-entry.ts";
import { createTaskTable } from "./constructs/task-table.ts";
import { watchRuntime } from "./constructs/watch-runtime.ts";
import { watchTasks } from "./constructs/watch-tasks.ts";
import { watchVerification } from "./constructs/watch-verification.ts";
import { createQueue, visibilityTimeout } from "./constructs/work-queue.ts";
import { createZoneKey, removalPolicy } from "./constructs/zone-key.ts";
import { formatInstallationsPrefix, formatMetricsNamespace, formatRoleName, verificationOutputs } from "./names.ts";
import type { ExecutionEntry, StageSettings } from "./stage-settings.ts";

/** More than the 2 s that an enqueue may take and a cold start; less than Slack waits would help nobody. */
const ingressTimeout = Duration.seconds(10);
/** A cold start is nearly all processor time, and the processor comes with the memory. */
const ingressMemoryMb = 512;
/** Waits nearly all of its time; the AWS clients and a batch of answers need the rest. */
const workerMemoryMb = 512;
/** Beyond the lease, in which acts end: for the store and the queue, before and after. */
const beyondLeaseSeconds = 15;
const batchSize = 10;
/** Invocations at once, of an event source that must not hold up others. AWS allows no fewer. */
const leastConcurrency = 2;

export class VerificationStack extends Stack {
  constructor(
    scope: Construct,
    id: string,
    { settings, entry, ...props }: StackProps & { settings: StageSettings; entry: ExecutionEntry | undefined },
  ) {
    super(scope, id, props);
    const { stageName, stage, config, writeBundle } = settings;
    const { production, logRetentionDays } = stage;
    const { leaseMs, maxReceiveCount } = config.limits;
    const { workerConcurrency, eventsPerSecond, eventBurst, reservedIngress } = stage.scale;
    const common = { production, logs: logEnvironment(config), logRetentionDays };
    const workerTimeout = Duration.seconds(Math.ceil(leaseMs / 1000) + beyondLeaseSeconds);

    const key = createZoneKey(this, "Key", { production });
    const table = createTaskTable(this, "Tasks", { key, production });
    const files = createFileBucket(this, "Files", { key, production });
    const archive = createQueue(this, "DeadLetterArchive", { key, production });
    const visibility = visibilityTimeout(workerTimeout);
    const deadLetters = createQueue(this, "DeadLetters", { key, production, visibility });
    const queue = createQueue(this, "Queue", {
      key,
      production,
      visibility,
      deadLetters: { queue: deadLetters, maxReceiveCount },
    });
    const place = findExecutionPlace(stage);
    const sender = place && { account: place.account, roleName: formatRoleName({ stageName, zone: "Execution" }) };
    const completions = sender
      ? [createCompletionQueue(this, "Completions", { stageName, key, visibility, sender })]
      : [];
    // The command line owns its value. Whatever changes here, even a description, would make a deploy write `{}` over it.
    const settingsParameter = new SsmParameter(this, "LiveSettings", { type: "String", value: "{}" });
    settingsParameter.applyRemovalPolicy(removalPolicy({ production }));

    const ingress = createNodeFunction(this, "Ingress", {
      ...common,
      description: "Checks Slack's signature and enqueues",
      folder: writeBundle("ingress"),
      environment: {
        SEKISHO_QUEUE_URL: queue.queueUrl,
        SEKISHO_SIGNING_SECRET: secretId(config.slack.signingSecret),
        ...metricsEnvironment(settings),
        SEKISHO_TRACE_RATIO: String(config.telemetry.traces.sampleRatio),
      },
      timeout: ingressTimeout,
      reservedConcurrency: reservedIngress,
      memoryMb: ingressMemoryMb,
    });
    for (const statement of [
      secretsPermission(this, [secretId(config.slack.signingSecret)]),
      sendPermission(queue),
      keyPermission(key, { sends: true, through: ["sqs"] }),
    ]) {
      ingress.addToRolePolicy(statement);
    }

    const role = Role.fromRoleName(this, "Role", formatRoleName({ stageName, zone: "Verification" }));
    for (const statement of [
      tablePermission(table),
      keyPermission(key, { sends: true, through: ["dynamodb", "s3", "sqs"] }),
      consumePermission(queue, ...completions),
      retryPermission(queue),
      sendPermission(queue),
      parameterPermission(this, settingsParameter.ref),
      secretsPermission(this, [secretId(config.slack.botToken), ...destinationSecrets(config)]),
    ]) {
      role.addToPrincipalPolicy(statement);
    }
    permitDestinations(role, { config, entry });
    const { telemetryLayer: layer } = stage.verification;
    permitSpans(this, { role, config, layer });
    const { install } = config.slack;
    const installations = install && formatInstallationsPrefix({ stageName });
    if (installations !== undefined) {
      permitReadSecretsBelow(role, installations);
      role.addToPrincipalPolicy(optionalSecretPermission(this, secretId(config.slack.botToken)));
    }
    permitFiles(role, files);
    const environment = {
      SEKISHO_QUEUE_URL: queue.queueUrl,
      SEKISHO_TABLE: table.tableName,
      SEKISHO_ROUTES_PARAMETER: settingsParameter.ref,
      ...metricsEnvironment(settings),
    };
    // The worker wakes itself through its queue. A message that it fails goes to the handler, which sends to that queue again.
    const mover = { ...common, layer, timeout: workerTimeout, memoryMb: workerMemoryMb, isInLoop: true };
    const worker = createNodeFunction(this, "Worker", {
      ...mover,
      role,
      description: "Moves tasks",
      folder: writeBundle("worker"),
      environment: {
        ...environment,
        SEKISHO_QUEUE_ARN: queue.queueArn,
        SEKISHO_SLACK_API_URL: config.slack.apiUrl,
        ...(installations === undefined ? {} : { SEKISHO_INSTALLATIONS_PREFIX: installations }),
        SEKISHO_FILES_BUCKET: files.bucketName,
        ...(entry === undefined ? {} : { SEKISHO_EXECUTION_ADDRESS: this.toJsonString(entry.address) }),
      },
    });
    const deadLetterHandler = createNodeFunction(this, "DeadLetterHandler", {
      ...mover,
      description: "Ends tasks that cannot be moved",
      folder: writeBundle("deadLetters"),
      environment: { ...environment, SEKISHO_DEAD_LETTERS_URL: archive.queueUrl },
    });
    for (const statement of [
      tablePermission(table, { creates: false }),
      keyPermission(key, { sends: true, through: ["dynamodb", "sqs"] }),
      consumePermission(deadLetters),
      sendPermission(queue, archive),
      parameterPermission(this, settingsParameter.ref),
    ]) {
      deadLetterHandler.addToRolePolicy(statement);
    }
    if (deadLetterHandler.role) permitSpans(this, { role: deadLetterHandler.role, config, layer });
    // It follows $LATEST, so that it runs the code and the environment that the event sources invoke.
    const forOperators = new Alias(this, "WorkerForOperators", {
      aliasName: operatorAlias,
      version: worker.latestVersion,
      description: "Answers operators, and takes no messages",
    });
    consumeMessages(worker, { queue, batchSize, maxConcurrency: workerConcurrency });
    for (const pushed of completions)
      consumeMessages(worker, { id: "Completions", queue: pushed, batchSize, maxConcurrency: leastConcurrency });
    consumeMessages(deadLetterHandler, { queue: deadLetters, batchSize, maxConcurrency: leastConcurrency });

    const installFlow =
      install &&
      createInstallFlow(this, {
        ...common,
        clientId: install.clientId,
        clientSecret: { secretsManager: secretId(install.clientSecret) },
        prefix: formatInstallationsPrefix({ stageName }),
        table,
        key,
        slackApiUrl: config.slack.apiUrl,
        folder: writeBundle("installFlow"),
      });
    const { eventsUrl, api } = createSlackEntry(this, { ...common, ingress, installFlow, eventsPerSecond, eventBurst });
    const alarm = createAlarms(this, { key, email: stage.alarmEmail });
    const namespace = formatMetricsNamespace({ stageName });
    watchVerification(this, {
      alarm,
      functions: {
        Ingress: ingress,
        Worker: worker,
        DeadLetterHandler: deadLetterHandler,
        ...(installFlow === undefined ? {} : { InstallFlow: installFlow }),
      },
      ingress,
      entry: api,
      queue,
      deadLetters,
      archive,
      rows: config.telemetry.metrics ? watchTasks({ alarm, namespace }) : [],
    });

    // AWS documents only for the newest platform version that the metrics of calls from another account go to the owner's.
    if (entry?.watched && place?.account !== stage.verification.account && place?.region === stage.verification.region)
      watchRuntime(this, { alarm, endpoint: entry.watched });

    const outputs: Record<keyof typeof verificationOutputs, string> = {
      eventsUrl,
      queueUrl: queue.queueUrl,
      deadLettersUrl: archive.queueUrl,
      tableName: table.tableName,
      routesParameter: settingsParameter.ref,
      deployedDestinations: JSON.stringify(createFingerprints(config)),
      executionAddress: entry === undefined ? "null" : this.toJsonString(entry.address),
      // For a person too: it has to be empty before the stack can be deleted.
      filesBucket: files.bucketName,
      // The command line invokes it to have it check what it can reach. Nothing but IAM policies of the account permits that.
      workerFunction: forOperators.functionArn,
    };
    for (const [name, value] of Object.entries(outputs)) {
      new CfnOutput(this, verificationOutputs[name as keyof typeof outputs], { value });
    }
  }
}

function secretId(reference: SecretReference): string {
  if ("secretsManager" in reference) return reference.secretsManager;
  throw new Error(`${reference.env} is no secret of a stage.`);
}
