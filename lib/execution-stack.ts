/** The Execution zone in its account: an AgentCore Runtime, or Lambda behind a Function URL; with its task table and its key. */
import { CfnOutput, Duration, Stack, type StackProps } from "aws-cdk-lib";
import type { Construct } from "constructs";
import type { ExecutionAddress } from "../lambdas/shared/config/stage-config.ts";
import { permitAgent } from "./constructs/agent-permissions.ts";
import { createAgentRuntime, createRuntimeRole } from "./constructs/agent-runtime.ts";
import { createAlarms } from "./constructs/alarms.ts";
import { permitCompletionPush } from "./constructs/completion-push.ts";
import { createExecutionFunctions } from "./constructs/execution-functions.ts";
import { logEnvironment } from "./constructs/log-environment.ts";
import { useKey, useTable } from "./constructs/permissions.ts";
import { createTaskTable } from "./constructs/task-table.ts";
import { permitSpans } from "./constructs/telemetry-permissions.ts";
import { createZoneKey } from "./constructs/zone-key.ts";
import { executionOutputs, roleNameOf } from "./names.ts";
import type { StageSettings } from "./stage-settings.ts";

/** Where the zone is reached, and what a caller must be permitted for that. Holds references to what AWS names. */
export type ExecutionEntry = { address: ExecutionAddress; arns: string[] };

export class ExecutionStack extends Stack {
  readonly entry: ExecutionEntry;

  constructor(
    scope: Construct,
    id: string,
    { settings, callerRoleArn, ...props }: StackProps & { settings: StageSettings; callerRoleArn: string },
  ) {
    super(scope, id, props);
    const { stageName, stage, config } = settings;
    const { production } = stage;
    const key = createZoneKey(this, "Key", { production });
    const table = createTaskTable(this, "Tasks", { key, production });
    new CfnOutput(this, executionOutputs.tableName, { value: table.tableName });
    const roleName = roleNameOf({ stageName, zone: "Execution" });
    if (stage.execution.kind === "lambda") {
      this.entry = createExecutionFunctions(this, { settings, key, table, roleName, callerRoleArn });
      return;
    }
    const stopAfterResult = stage.execution.kind === "agentcore" && stage.execution.stopAfterResult;
    const role = createRuntimeRole(this, { roleName });
    for (const statement of [useTable(table), useKey(key, { sends: false })]) role.addToPolicy(statement);
    permitAgent(role, config.execution.agent);
    permitSpans(this, { role, config });
    const { runtime, endpoint } = createAgentRuntime(this, {
      folder: settings.writeBundle("agentcore"),
      environment: {
        SEKISHO_TABLE: table.tableName,
        AWS_REGION: this.region,
        ...logEnvironment(config),
        ...permitCompletionPush(role, settings),
      },
      role,
      callerRoleArn,
      stops: stopAfterResult,
    });
    const { agentRuntimeArn: runtimeArn } = runtime;
    createAlarms(this, { key, email: stage.alarmEmail })("RuntimeErrors", {
      metric: runtime.metricSystemErrors({ period: Duration.minutes(5), statistic: "Sum" }),
      threshold: 0,
      what: "AgentCore could not run the Execution zone. See the log group of the runtime.",
    });
    this.entry = {
      address: { transport: "agentcore", runtimeArn, qualifier: endpoint.endpointName, stopAfterResult },
      arns: [runtimeArn, endpoint.agentRuntimeEndpointArn],
    };
  }
}
