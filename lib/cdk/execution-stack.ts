/** The Execution zone in its account: an AgentCore Runtime, or Lambda behind a Function URL; with its task table and its key. */
import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { isA2aEndpoint } from "../../lambdas/shared/config/stage-config.ts";
import { permitAgent } from "./constructs/agent-permissions.ts";
import { createAgentRuntime, createRuntimeRole } from "./constructs/agent-runtime.ts";
import { createAlarms } from "./constructs/alarms.ts";
import { permitCompletionPush } from "./constructs/completions.ts";
import { logEnvironment } from "./constructs/environment.ts";
import { createExecutionFunctions } from "./constructs/execution-functions.ts";
import { keyPermission, permitSpans, tablePermission } from "./constructs/permissions.ts";
import { createTaskTable } from "./constructs/task-table.ts";
import { watchRuntime } from "./constructs/watch-runtime.ts";
import { createZoneKey } from "./constructs/zone-key.ts";
import { executionOutputs, formatRoleName } from "./names.ts";
import type { ExecutionEntry, StageSettings } from "./stage-settings.ts";

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
    const hasPrincipals = stage.execution.kind === "lambda" && isA2aEndpoint({ config, kind: "lambda" });
    const table = createTaskTable(this, "Tasks", { key, production, hasPrincipals });
    new CfnOutput(this, executionOutputs.tableName, { value: table.tableName });
    const roleName = formatRoleName({ stageName, zone: "Execution" });
    if (stage.execution.kind === "lambda") {
      this.entry = createExecutionFunctions(this, { settings, key, table, roleName, callerRoleArn });
      return;
    }
    if (stage.execution.kind === "external") throw new Error(`Stage ${stageName} deploys no Execution zone.`);
    const { stopAfterResult, idleSeconds, maxLifetimeSeconds } = stage.execution;
    const role = createRuntimeRole(this, { roleName });
    for (const statement of [tablePermission(table), keyPermission(key, { sends: false, through: ["dynamodb"] })])
      role.addToPolicy(statement);
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
