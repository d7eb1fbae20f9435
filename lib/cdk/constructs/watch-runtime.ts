/** The alarms of an AgentCore runtime: errors, throttles and new sessions of the endpoint that the worker calls. */
import { Duration, Stack } from "aws-cdk-lib";
import { Metric } from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import type { AddAlarm } from "./alarms.ts";

/** An endpoint as AgentCore's metrics name it, and how long a session of it idles before it ends. */
export type WatchedEndpoint = { runtimeArn: string; runtimeName: string; endpointName: string; idleSeconds: number };

/** AgentCore's default quota of active sessions in an account and region. It can be raised. */
const defaultSessionQuota = 2500;
const sessionQuotas: Record<string, number> = { "us-east-1": 5000, "us-west-2": 5000 };
const sessionShare = 0.8;
const minutes = Duration.minutes(5);

/**
 * AgentCore counts calls under `<runtime>::<endpoint>`. CDK's own `runtime.metric…` watches `<runtime>::DEFAULT`, which is
 * never called here.
 */
export function watchRuntime(
  scope: Construct,
  { alarm, endpoint }: { alarm: AddAlarm; endpoint: WatchedEndpoint },
): void {
  const { runtimeArn, runtimeName, endpointName, idleSeconds } = endpoint;
  const sum = (metricName: string, period = minutes) =>
    new Metric({
      namespace: "AWS/Bedrock-AgentCore",
      metricName,
      dimensionsMap: {
        Operation: "InvokeAgentRuntime",
        Name: `${runtimeName}::${endpointName}`,
        Resource: runtimeArn,
      },
      statistic: "Sum",
      period,
    });
  alarm("RuntimeErrors", {
    metric: sum("SystemErrors"),
    threshold: 0,
    what: "AgentCore could not run the Execution zone. See the log group of the runtime.",
  });
  alarm("RuntimeThrottles", {
    metric: sum("Throttles"),
    threshold: 0,
    what: "AgentCore refused calls because a quota of the account was used up. Tasks wait and try again. See the quotas of AgentCore.",
  });
  const quota = sessionQuotas[Stack.of(scope).region] ?? defaultSessionQuota;
  alarm("RuntimeSessions", {
    // A session lives at least as long as it may idle, and is counted once, when it begins.
    metric: sum("SessionCount", Duration.minutes(Math.ceil(idleSeconds / 60))),
    threshold: sessionShare * quota,
    what: `The sessions that began within the idle time are over ${100 * sessionShare} % of the default quota of ${quota} active sessions.`,
  });
}
