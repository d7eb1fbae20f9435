/** The Execution zone as a construct: its key and task table, and either an AgentCore Runtime or Lambda behind a Function URL. */
import { Stack } from "aws-cdk-lib";
import { Construct } from "constructs";
import { isA2aEndpoint } from "../../lambdas/shared/config/stage-config.ts";
import { permitAgent } from "./constructs/agent-permissions.ts";
import { createAgentRuntime, createRuntimeRole } from "./constructs/agent-runtime.ts";
import { createAlarms, watchRuntime } from "./constructs/alarms.ts";
import { createExecutionFunctions } from "./constructs/execution-functions.ts";
import { keyPermission, permit, permitSpans, tablePermission } from "./constructs/permissions.ts";
import { permitCompletionPush } from "./constructs/queues.ts";
import { createTaskTable, createZoneKey } from "./constructs/storage.ts";
import { executionOutputs, formatRoleName, formatVerificationRoleArn } from "./names.ts";
import { addOutput } from "./outputs.ts";
import { type ExecutionEntry, logEnvironment, type StageSettings } from "./stage-settings.ts";

export type ExecutionZoneProps = { settings: StageSettings };

/**
 * Needs the account and the region of the stage's Execution zone. Where its stack is not the one that `addStage` makes, the
 * command line does not find it. Throws if the stage has an external Execution zone.
 */
export class ExecutionZone extends Construct {
  /** For the `VerificationZone` of the same app. */
  readonly entry: ExecutionEntry;

  constructor(scope: Construct, id: string, { settings }: ExecutionZoneProps) {
    super(scope, id);
    const { stageName, stage, config } = settings;
    const callerRoleArn = formatVerificationRoleArn({ stageName, ...stage.verification });
    const { production, execution } = stage;
    const key = createZoneKey(this, "Key", { production });
    const hasPrincipals = execution.kind === "lambda" && isA2aEndpoint({ config, kind: "lambda" });
    const table = createTaskTable(this, "Tasks", { key, production, hasPrincipals });
    addOutput(this, executionOutputs.tableName, table.tableName);
    const roleName = formatRoleName({ stageName, zone: "Execution" });
    if (execution.kind === "lambda") {
      this.entry = createExecutionFunctions(this, { settings, execution, key, table, roleName, callerRoleArn });
      return;
    }
    if (execution.kind === "external") throw new Error(`Stage ${stageName} deploys no Execution zone.`);
    const { stopAfterResult, idleSeconds, maxLifetimeSeconds } = execution;
    const role = createRuntimeRole(this, { roleName });
    permit(role, tablePermission(table), keyPermission(key, { sends: false, through: ["dynamodb"] }));
    permitAgent(role, config.execution.agent);
    permitSpans(role, { config });
    const { runtime, endpoint } = createAgentRuntime(this, {
      folder: settings.writeBundle("agentcore"),
      environment: {
        SEKISHO_TABLE: table.tableName,
        AWS_REGION: Stack.of(this).region,
        ...logEnvironment(config),
        ...permitCompletionPush(role, settings),
      },
      role,
      callerRoleArn,
      stops: stopAfterResult,
      idleSeconds,
      maxLifetimeSeconds,
    });
    const { agentRuntimeArn: runtimeArn, agentRuntimeName: runtimeName } = runtime;
    const { endpointName } = endpoint;
    const watched = { runtimeArn, runtimeName, endpointName, idleSeconds };
    watchRuntime(this, { alarm: createAlarms(this, { key, email: stage.alarmEmail }), endpoint: watched });
    this.entry = {
      address: { transport: "agentcore", runtimeArn, qualifier: endpointName, stopAfterResult },
      arns: [runtimeArn, endpoint.agentRuntimeEndpointArn],
      watched,
    };
  }
}
