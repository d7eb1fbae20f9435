/** The Execution zone as a construct: its key and task table, and either an AgentCore Runtime or Lambda behind a Function URL. */

import { ConfigError } from "@sekisho/config/config-error.ts";
import { findExecutionTarget, isA2aEndpoint } from "@sekisho/config/stage-config.ts";
import { Stack } from "aws-cdk-lib";
import type { Alarm } from "aws-cdk-lib/aws-cloudwatch";
import type { Role } from "aws-cdk-lib/aws-iam";
import type { Topic } from "aws-cdk-lib/aws-sns";
import { Construct } from "constructs";
import { permitAgents } from "./constructs/agent-permissions.ts";
import { createAgentRuntime, createRuntimeRole } from "./constructs/agent-runtime.ts";
import { createAlarms, watchRuntime } from "./constructs/alarms.ts";
import { createExecutionFunctions } from "./constructs/execution-functions.ts";
import {
  keyPermission,
  permit,
  permitSpans,
  secretsPermission,
  tablePermission,
} from "./constructs/permissions.ts";
import { permitCompletionPush } from "./constructs/queues.ts";
import { createTaskTable, createZoneKey } from "./constructs/storage.ts";
import { executionOutputs, formatRoleName, formatVerificationRoleArn } from "./names.ts";
import { addOutput } from "./outputs.ts";
import { checkPlacement } from "./placement.ts";
import { type ExecutionEntry, logEnvironment, type StageSettings } from "./stage-settings.ts";

export type ExecutionZoneProps = { settings: StageSettings };

/**
 * Needs the account and the region of the stage's Execution zone. Where its stack is not the one that `addStage` makes, the
 * command line does not find it. Throws a ConfigError if its stack is elsewhere, or if the stage has an external Execution zone.
 */
export class ExecutionZone extends Construct {
  /** For the `VerificationZone` of the same app. */
  readonly entry: ExecutionEntry;
  /** The role that the agent runs with. Grant it what the agent needs. */
  readonly role: Role;
  readonly alarms: readonly Alarm[];
  /** Gets every alarm. `alarmEmail` is subscribed to it. */
  readonly alarmTopic: Topic;

  constructor(scope: Construct, id: string, { settings }: ExecutionZoneProps) {
    super(scope, id);
    const { stageName, stage, config } = settings;
    const { production, execution } = stage;
    const target = findExecutionTarget(stage);
    if (execution.kind === "external" || target === undefined) {
      throw new ConfigError(`The stage ${stageName}`, [
        "execution.kind is external, so it has no Execution zone: leave out ExecutionZone",
      ]);
    }
    checkPlacement(this, { zone: "Execution", stageName, ...target });
    const callerRoleArn = formatVerificationRoleArn({ stageName, ...stage.verification });
    const key = createZoneKey(this, "Key", { production });
    const hasPrincipals = execution.kind === "lambda" && isA2aEndpoint({ config, kind: "lambda" });
    const table = createTaskTable(this, "Tasks", {
      key,
      production,
      indexes: hasPrincipals ? ["principals"] : [],
    });
    addOutput(this, executionOutputs.tableName, table.tableName);
    const roleName = formatRoleName({ stageName, zone: "Execution" });
    const { alarm, alarms, topic } = createAlarms(this, { key, email: stage.alarmEmail });
    this.alarms = alarms;
    this.alarmTopic = topic;
    if (execution.kind === "lambda") {
      const common = { settings, execution, key, table, roleName, callerRoleArn, alarm };
      const { entry, role } = createExecutionFunctions(this, common);
      this.entry = entry;
      this.role = role;
      return;
    }
    const { stopAfterResult, idleSeconds, maxLifetimeSeconds, platformVersion } = execution;
    const isA2a = execution.protocol === "a2a";
    const role = createRuntimeRole(this, { roleName });
    permit(
      role,
      tablePermission(table),
      keyPermission(key, { sends: false, through: ["dynamodb"] }),
    );
    permitAgents(role, config.execution);
    const cardKey = config.execution.a2a.signature?.key;
    if (isA2a && cardKey !== undefined && "secretsManager" in cardKey)
      permit(role, secretsPermission(this, [cardKey.secretsManager]));
    permitSpans(role, { config });
    const { runtime, endpoint } = createAgentRuntime(this, {
      folder: settings.writeBundle(isA2a ? "agentcoreA2a" : "agentcore"),
      key,
      stage,
      environment: {
        SEKISHO_TABLE: table.tableName,
        AWS_REGION: Stack.of(this).region,
        ...logEnvironment(config),
        ...permitCompletionPush(role, settings),
      },
      role,
      callerRoleArn,
      stops: stopAfterResult,
      a2aCallers: isA2a ? config.execution.a2a.callers : undefined,
      verifiesAskers: config.execution.asker !== undefined,
      idleSeconds,
      maxLifetimeSeconds,
      platformVersion,
    });
    const { agentRuntimeArn: runtimeArn, agentRuntimeName: runtimeName } = runtime;
    const { endpointName } = endpoint;
    const watchedRuntime = { runtimeArn, runtimeName, endpointName, idleSeconds };
    watchRuntime(this, { alarm, endpoint: watchedRuntime });
    this.role = role;
    this.entry = {
      address: {
        transport: "agentcore",
        runtimeArn,
        qualifier: endpointName,
        stopAfterResult,
        idleSeconds,
      },
      arns: [runtimeArn, endpoint.agentRuntimeEndpointArn],
      stack: Stack.of(this),
      watched: watchedRuntime,
    };
  }
}
