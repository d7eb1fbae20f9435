/** The stack of the Execution zone: its key and task table, and either an AgentCore Runtime or Lambda behind a Function URL. */
import { CfnOutput, Stack, type StackProps } from "aws-cdk-lib";
import type { Construct } from "constructs";
import { isA2aEndpoint } from "../../lambdas/shared/config/stage-config.ts";
import { permitAgent } from "./constructs/agent-permissions.ts";
import { createAgentRuntime, createRuntimeRole } from "./constructs/agent-runtime.ts";
import { createAlarms, watchRuntime } from "./constructs/alarms.ts";
import { createExecutionFunctions } from "./constructs/execution-functions.ts";
import { keyPermission, permit, permitSpans, tablePermission } from "./constructs/permissions.ts";
import { permitCompletionPush } from "./constructs/queues.ts";
import { createTaskTable, createZoneKey } from "./constructs/storage.ts";
import { executionOutputs, formatRoleName } from "./names.ts";
import { type ExecutionEntry, logEnvironment, type StageSettings } from "./stage-settings.ts";

export class ExecutionStack extends Stack {
  readonly entry: ExecutionEntry;

  constructor(
    scope: Construct,
    id: string,
    { settings, callerRoleArn, ...props }: StackProps & { settings: StageSettings; callerRoleArn: string },
  ) {
    super(scope, id, props);
    const { stageName, stage, config } = settings;
    const { production, execution } = stage;
    const key = createZoneKey(this, "Key", { production });
    const hasPrincipals = execution.kind === "lambda" && isA2aEndpoint({ config, kind: "lambda" });
    const table = createTaskTable(this, "Tasks", { key, production, hasPrincipals });
    new CfnOutput(this, executionOutputs.tableName, { value: table.tableName });
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
