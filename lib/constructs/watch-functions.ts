/** The alarms of every function: errors, throttles, and invocations that Lambda refused because it took them for a loop. */
import { Duration } from "aws-cdk-lib";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import type { IFunction } from "aws-cdk-lib/aws-lambda";
import type { AddAlarm } from "./alarms.ts";

/** By the names that the alarms get; the metrics come back for whoever draws them. */
export function watchFunctions({ alarm, functions }: { alarm: AddAlarm; functions: Record<string, IFunction> }): {
  errors: IMetric[];
  throttles: IMetric[];
} {
  const period = Duration.minutes(1);
  const named = Object.entries(functions);
  const errors = named.map(([name, fn]) =>
    alarm(`${name}Errors`, {
      metric: fn.metricErrors({ period }),
      threshold: 0,
      what: `The function ${name} ended with an error. See its log.`,
    }),
  );
  const throttles = named.map(([name, fn]) =>
    alarm(`${name}Throttles`, {
      metric: fn.metricThrottles({ period }),
      threshold: 0,
      what: `The function ${name} was not started for want of concurrency. Raise the account's limit.`,
    }),
  );
  for (const [name, fn] of named) {
    alarm(`${name}LoopStopped`, {
      metric: fn.metric("RecursiveInvocationsDropped", { period, statistic: "Sum" }),
      threshold: 0,
      what: `Lambda took messages for a runaway loop and did not invoke the function ${name} for them. See docs/operations.md.`,
    });
  }
  return { errors, throttles };
}
