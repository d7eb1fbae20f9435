/** The Verification zone as a construct: entry, ingress, queues, worker, dead-letter handler, task table, alarms. */

import { baseWorkerSeconds, workerSeconds } from "@sekisho/config/call-time.ts";
import { ConfigError } from "@sekisho/config/config-error.ts";
import { createFingerprints } from "@sekisho/config/live-settings.ts";
import { findExecutionTarget } from "@sekisho/config/stage-config.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { operatorAlias } from "@sekisho/runtime/aws/operator-alias.ts";
import { Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import type { Alarm } from "aws-cdk-lib/aws-cloudwatch";
import type { Table } from "aws-cdk-lib/aws-dynamodb";
import { Role } from "aws-cdk-lib/aws-iam";
import { Alias, type Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Topic } from "aws-cdk-lib/aws-sns";
import { CfnParameter as SsmParameter } from "aws-cdk-lib/aws-ssm";
import { Construct } from "constructs";
import { createAlarms, watchRuntime, watchVerification } from "./constructs/alarms.ts";
import { createAskerKeys, needsAskerKeys } from "./constructs/asker-keys.ts";
import { destinationSecrets, permitDestinations } from "./constructs/destination-permissions.ts";
import { consumeMessages, createNodeFunction } from "./constructs/node-function.ts";
import {
  consumePermission,
  keyPermission,
  optionalSecretPermission,
  parameterPermission,
  permit,
  permitReadSecretsBelow,
  permitSpans,
  retryPermission,
  secretsPermission,
  sendPermission,
  tablePermission,
  taskListPermission,
} from "./constructs/permissions.ts";
import { createCompletionQueue, createQueue, visibilityTimeout } from "./constructs/queues.ts";
import { createInstallFlow, createSlackEntry } from "./constructs/slack-entry.ts";
import {
  createFileBucket,
  createTaskTable,
  createZoneKey,
  permitFiles,
} from "./constructs/storage.ts";
import { watchTasks } from "./constructs/zone-metrics.ts";
import { formatInstallationsPrefix, formatRoleName, verificationOutputs } from "./names.ts";
import { addOutput, permitOutputReads } from "./outputs.ts";
import { checkPlacement } from "./placement.ts";
import { type ExecutionEntry, metricsEnvironment, type StageSettings } from "./stage-settings.ts";

/** Enqueueing may take 2 s, and a cold start comes on top. Slack stops waiting earlier. */
const ingressTimeout = Duration.seconds(10);
/** Lambda assigns processor time in proportion to memory, and a cold start needs processor time. */
const ingressMemoryMb = 512;
/** The worker mostly waits. The AWS clients and a batch of answers need this memory. */
const workerMemoryMb = 512;
const batchSize = 10;
/** The least that AWS allows, for event sources that must not delay others. */
const minConcurrency = 2;

export type VerificationZoneProps = {
  settings: StageSettings;
  /** The stage's own Execution zone. Undefined if it has none. */
  entry?: ExecutionEntry | undefined;
};

/**
 * Needs the account and the region of the stage's Verification zone, where `SekishoIdentity` is deployed already. Where its stack
 * is not the one that `addStage` makes, the command line does not find it. Throws a ConfigError if its stack is elsewhere, or if
 * `entry` does not fit the stage.
 */
export class VerificationZone extends Construct {
  /** Slack's Request URL. */
  readonly eventsUrl: string;
  readonly alarms: readonly Alarm[];
  /** Gets every alarm. `alarmEmail` is subscribed to it. */
  readonly alarmTopic: Topic;
  /** Tasks, threads, rules, quotas and usage. */
  readonly table: Table;
  /** The function that advances tasks. */
  readonly worker: LambdaFunction;

  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
  constructor(scope: Construct, id: string, { settings, entry }: VerificationZoneProps) {
    super(scope, id);
    const stack = Stack.of(this);
    const { stageName, stage, config } = settings;
    const { production } = stage;
    const target = findExecutionTarget(stage);
    checkPlacement(this, { zone: "Verification", stageName, ...stage.verification });
    checkEntry({ settings, entry });
    if (entry !== undefined) permitOutputReads({ producer: entry.stack, consumer: stack });
    const { telemetryLayer: layer } = stage.verification;
    const { maxReceiveCount } = config.limits;
    const { install } = config.slack;
    const signingSecret = secretId(config.slack.signingSecret);
    const botToken = secretId(config.slack.botToken);
    const stepTimeout = Duration.seconds(baseWorkerSeconds(config));

    const key = createZoneKey(this, "Key", { production });
    const table = createTaskTable(this, "Tasks", {
      key,
      production,
      indexes: ["shards", "principals"],
    });
    const files = createFileBucket(this, "Files", { key, production });
    const archive = createQueue(this, "DeadLetterArchive", { key, production });
    // Long calls do not count, so that another worker takes over from a killed one as soon as without them.
    const visibility = visibilityTimeout(stepTimeout);
    const deadLetters = createQueue(this, "DeadLetters", { key, production, visibility });
    const queue = createQueue(this, "Queue", {
      key,
      production,
      visibility,
      deadLetters: { queue: deadLetters, maxReceiveCount },
    });
    const completions = target && [
      createCompletionQueue(this, "Completions", {
        stageName,
        key,
        visibility,
        senderAccount: target.account,
      }),
    ];
    // Held the live settings before the table did. The worker takes them over from here, and the functions of the version before read them
    // until they are replaced, so no property may change. The next release drops it, and must find it retained in every stage.
    const formerSettings = new SsmParameter(this, "LiveSettings", { type: "String", value: "{}" });
    formerSettings.applyRemovalPolicy(RemovalPolicy.RETAIN);

    const ingress = createNodeFunction(this, "Ingress", {
      settings,
      description: "Checks Slack's signature and enqueues the message",
      bundle: "ingress",
      environment: {
        SEKISHO_QUEUE_URL: queue.queueUrl,
        SEKISHO_SIGNING_SECRET: signingSecret,
        ...metricsEnvironment(settings),
        SEKISHO_TRACE_RATIO: String(config.telemetry.traces.sampleRatio),
        ...(config.slack.context.forwards ? {} : { SEKISHO_FORWARDS: "false" }),
      },
      timeout: ingressTimeout,
      reservedConcurrency: stage.scale.reservedIngress,
      memoryMb: ingressMemoryMb,
    });
    permit(
      ingress,
      secretsPermission(this, [signingSecret]),
      sendPermission(queue),
      keyPermission(key, { sends: true, through: ["sqs"] }),
    );

    const role = Role.fromRoleName(
      this,
      "Role",
      formatRoleName({ stageName, zone: "Verification" }),
    );
    permit(
      role,
      tablePermission(table),
      // The App Home lists the tasks of the person who looks at it.
      taskListPermission(table),
      keyPermission(key, { sends: true, through: ["dynamodb", "s3", "sqs"] }),
      consumePermission(queue, ...(completions ?? [])),
      retryPermission(queue),
      sendPermission(queue),
      parameterPermission(this, formerSettings.ref),
      secretsPermission(this, [botToken, ...destinationSecrets(config)]),
    );
    permitDestinations(role, { config, entry });
    permitSpans(role, { config, layer });
    const installations = install && formatInstallationsPrefix({ stageName });
    if (installations !== undefined) {
      permitReadSecretsBelow(role, installations);
      permit(role, optionalSecretPermission(this, botToken));
    }
    permitFiles(role, files);
    const askerEnvironment = createAskerKeys(this, { settings, role });
    const environment = {
      SEKISHO_QUEUE_URL: queue.queueUrl,
      SEKISHO_TABLE: table.tableName,
      // Under the name that the version before reads, because AWS replaces the environment and the code of a function one after the other.
      SEKISHO_ROUTES_PARAMETER: formerSettings.ref,
      ...metricsEnvironment(settings),
    };
    // The worker sends wake-ups to its own queue. Failed messages go to the handler, which sends to that queue again.
    const common = {
      settings,
      layer,
      timeout: stepTimeout,
      memoryMb: workerMemoryMb,
      isInLoop: true,
    };
    const worker = createNodeFunction(this, "Worker", {
      ...common,
      timeout: Duration.seconds(workerSeconds(config)),
      role,
      description: "Advances tasks step by step",
      bundle: "worker",
      environment: {
        ...environment,
        SEKISHO_QUEUE_ARN: queue.queueArn,
        SEKISHO_SLACK_API_URL: config.slack.apiUrl,
        ...(installations !== undefined && { SEKISHO_INSTALLATIONS_PREFIX: installations }),
        SEKISHO_FILES_BUCKET: files.bucketName,
        ...askerEnvironment,
        ...(entry && { SEKISHO_EXECUTION_ADDRESS: stack.toJsonString(entry.address) }),
      },
    });
    const deadLetterHandler = createNodeFunction(this, "DeadLetterHandler", {
      ...common,
      description: "Ends tasks whose messages failed too often",
      bundle: "deadLetters",
      environment: { ...environment, SEKISHO_DEAD_LETTERS_URL: archive.queueUrl },
    });
    permit(
      deadLetterHandler,
      tablePermission(table, { creates: false }),
      keyPermission(key, { sends: true, through: ["dynamodb", "sqs"] }),
      consumePermission(deadLetters),
      sendPermission(queue, archive),
      parameterPermission(this, formerSettings.ref),
    );
    if (deadLetterHandler.role) permitSpans(deadLetterHandler.role, { config, layer });
    // The alias points to $LATEST, so that it runs the same code and environment as the event sources.
    const forOperators = new Alias(this, "WorkerForOperators", {
      aliasName: operatorAlias,
      version: worker.latestVersion,
      description: "Invoked by operators' commands, not by event sources",
    });
    consumeMessages(worker, { queue, batchSize, maxConcurrency: stage.scale.workerConcurrency });
    for (const completionQueue of completions ?? [])
      consumeMessages(worker, {
        id: "Completions",
        queue: completionQueue,
        batchSize,
        maxConcurrency: minConcurrency,
      });
    consumeMessages(deadLetterHandler, {
      queue: deadLetters,
      batchSize,
      maxConcurrency: minConcurrency,
    });

    const installFlow =
      install &&
      createInstallFlow(this, {
        settings,
        clientId: install.clientId,
        clientSecret: secretId(install.clientSecret),
        table,
        key,
      });
    const withInstallFlow = installFlow && { installFlow };
    const { eventsUrl, api } = createSlackEntry(this, { stage, ingress, ...withInstallFlow });
    const { alarm, alarms, topic } = createAlarms(this, { key, email: stage.alarmEmail });
    watchVerification(this, {
      alarm,
      functions: {
        Ingress: ingress,
        Worker: worker,
        DeadLetterHandler: deadLetterHandler,
        ...(installFlow && { InstallFlow: installFlow }),
      },
      ingress,
      entry: api,
      queue,
      deadLetters,
      archive,
      rows: config.telemetry.metrics
        ? watchTasks({ alarm, stageName, hasAsker: needsAskerKeys(config) })
        : [],
    });

    // AWS documents only for its newest platform version that calls from another account count in the runtime's account.
    // Older versions count them here, so both accounts get the alarms.
    if (
      entry?.watched &&
      target?.account !== stage.verification.account &&
      target?.region === stage.verification.region
    )
      watchRuntime(this, { alarm, endpoint: entry.watched });

    const outputs: Record<keyof typeof verificationOutputs, string> = {
      eventsUrl,
      queueUrl: queue.queueUrl,
      deadLettersUrl: archive.queueUrl,
      tableName: table.tableName,
      formerLiveSettings: formerSettings.ref,
      deployedDestinations: JSON.stringify(createFingerprints(config)),
      executionAddress: entry === undefined ? "null" : stack.toJsonString(entry.address),
      // Operators need the name too, because the bucket must be empty before the stack can be deleted.
      filesBucket: files.bucketName,
      // The command line invokes the alias to check what the worker can reach. Only IAM policies of the account allow that.
      workerFunction: forOperators.functionArn,
    };
    for (const [name, value] of Object.entries(outputs)) {
      addOutput(this, verificationOutputs[name as keyof typeof outputs], value);
    }
    // The commands of the version before need this output. They must not push to a parameter that nobody reads: this one does not exist.
    addOutput(this, "RoutesParameter", "moved-to-the-table");
    this.eventsUrl = eventsUrl;
    this.alarms = alarms;
    this.alarmTopic = topic;
    this.table = table;
    this.worker = worker;
  }
}

/** Without its entry the stage would deploy, but the worker would not know the stage's own Execution zone. */
function checkEntry({ settings, entry }: VerificationZoneProps): void {
  const { stageName, stage } = settings;
  const { kind } = stage.execution;
  if (kind === "external" || entry !== undefined) return;
  throw new ConfigError(`The stage ${stageName}`, [
    `it has the kind ${kind}: pass \`entry: executionZone.entry\`, or set execution.kind to external`,
  ]);
}

function secretId(reference: SecretReference): string {
  if ("secretsManager" in reference) return reference.secretsManager;
  throw new Error(`${reference.env} is not a secret of a stage.`);
}
