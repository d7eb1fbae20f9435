/** Alarms and graphs on the zones' own metrics, which the functions write into their logs. */

import { sekisho } from "@sekisho/runtime/command-line.ts";
import { type MetricName, metricTable } from "@sekisho/runtime/telemetry/metric-table.ts";
import { Duration } from "aws-cdk-lib";
import {
  Dashboard,
  GraphWidget,
  type IWidget,
  MathExpression,
  Metric,
} from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import { formatMetricsNamespace } from "../names.ts";
import type { AddAlarm } from "./alarms.ts";

type Graph = { title: string; name: MetricName; by?: readonly string[]; statistic?: string };

const period = Duration.minutes(5);

/** Throws for dimensions that the functions do not write, because an alarm or graph on them would never get a value. */
export function createZoneMetrics({
  stageName,
  zone,
}: {
  stageName: string;
  zone: "verification" | "execution";
}) {
  const namespace = formatMetricsNamespace({ stageName });
  const metric = (
    name: MetricName,
    statistic: string,
    dimensions: Record<string, string> = {},
  ): Metric => {
    requireDimensions(name, Object.keys(dimensions));
    return new Metric({
      namespace,
      metricName: name,
      dimensionsMap: { zone, ...dimensions },
      statistic,
      period,
    });
  };
  return {
    metric,
    /** Is 1 while at least five, and more than half, of the counted events are of the kind that `failed` selects. */
    failureMajority: (
      label: string,
      name: MetricName,
      failureLabels: Record<string, string>,
    ): MathExpression =>
      new MathExpression({
        label,
        expression: "IF(failed >= 5 AND failed / total > 0.5, 1, 0)",
        usingMetrics: { failed: metric(name, "Sum", failureLabels), total: metric(name, "Sum") },
      }),
    /** Makes the widgets of a dashboard. A graph has a line for each combination of values of `by`. Widths share a row evenly. */
    rows: (graphs: readonly (readonly Graph[])[]): IWidget[][] =>
      graphs.map((row) =>
        row.map(({ title, name, by = [], statistic = "Sum" }) => {
          requireDimensions(name, by);
          const schema = [`"${namespace}"`, "zone", ...by].join(",");
          const expression = `SEARCH('{${schema}} MetricName="${name}" zone="${zone}"', '${statistic}')`;
          const lines = [new MathExpression({ expression, label: "", period })];
          return new GraphWidget({ title, left: lines, width: 24 / row.length });
        }),
      ),
  };
}

function requireDimensions(name: MetricName, labels: readonly string[]): void {
  const row = metricTable[name];
  const sets: readonly (readonly string[])[] = "dimensions" in row ? row.dimensions : [];
  const isKept = sets.some(
    (set) => set.length === labels.length && labels.every((label) => set.includes(label)),
  );
  if (!isKept)
    throw new Error(`${name} has no dimensions ${JSON.stringify(labels)} (metric-table.ts).`);
}

/** A warm worker takes a message within a second, and one that others keep busy within some seconds. A person starts to wonder after this time. */
const maxWaitSeconds = 10;

/** Watches whether tasks end well, are delivered, and start soon. Returns rows for the dashboard of the Verification zone. */
export function watchTasks({
  alarm,
  stageName,
  hasAsker,
}: {
  alarm: AddAlarm;
  stageName: string;
  /** True if destinations are told who asked. */
  hasAsker: boolean;
}): IWidget[][] {
  const { metric, failureMajority, rows } = createZoneMetrics({ stageName, zone: "verification" });
  alarm("TasksFail", {
    metric: failureMajority("more than half of the tasks fail", "sekisho_tasks_total", {
      outcome: "failed",
    }),
    threshold: 0,
    description: `More than half of the tasks fail, and their users read an error instead of an answer. See the reasons in the dashboard, then run ${sekisho} doctor --stage NAME.`,
  });
  alarm("DestinationDown", {
    metric: metric("sekisho_circuit_open", "Maximum"),
    threshold: 0,
    // One period alone may be a restart of the destination.
    periods: 2,
    description: `Calls to a destination keep failing, so its circuit is open. Its tasks wait, or fail over to the next destination of their route. Run ${sekisho} doctor --stage NAME.`,
  });
  alarm("AnswersUndelivered", {
    metric: metric("sekisho_answers_undelivered_total", "Sum"),
    threshold: 0,
    description: `Slack did not accept an answer, so its user does not see it in the thread. Find answer_not_delivered in the worker's log, fix the cause, and choose 'Deliver again' in ${sekisho} operate --stage NAME.`,
  });
  alarm("QueueWaits", {
    metric: metric("sekisho_queue_wait_seconds", "p99"),
    threshold: maxWaitSeconds,
    periods: 2,
    description: `New messages wait for more than ${maxWaitSeconds} seconds before a worker takes them. Users see no reaction meanwhile. Check the alarms WorkerErrors and WorkerThrottles. If neither fires, raise scale.workerConcurrency of the stage.`,
  });
  if (hasAsker)
    alarm("AskerTokensFail", {
      metric: metric("sekisho_asker_failures_total", "Sum"),
      threshold: 0,
      // One failure may be a pause of KMS, after which the call is repeated.
      periods: 2,
      description: `The worker cannot sign who asked, so nothing is sent to destinations that are told. Their tasks wait or fail. Check the keys with ${sekisho} asker show --stage NAME, then the function's permission kms:Sign.`,
    });
  return rows([
    [
      { title: "Tasks by outcome", name: "sekisho_tasks_total", by: ["outcome"] },
      { title: "Tasks by reason", name: "sekisho_tasks_total", by: ["outcome", "reason"] },
    ],
    [
      { title: "Tasks: p50", name: "sekisho_task_seconds", by: ["outcome"], statistic: "p50" },
      { title: "Tasks: p99", name: "sekisho_task_seconds", by: ["outcome"], statistic: "p99" },
      { title: "Stages: p50", name: "sekisho_stage_seconds", by: ["stage"], statistic: "p50" },
      { title: "Stages: p99", name: "sekisho_stage_seconds", by: ["stage"], statistic: "p99" },
    ],
    [
      {
        title: "Tasks by destination",
        name: "sekisho_tasks_total",
        by: ["destination", "outcome"],
      },
      { title: "Calls by destination", name: "sekisho_calls_total", by: ["destination", "result"] },
    ],
    [
      { title: "Calls: p99", name: "sekisho_call_seconds", by: ["operation"], statistic: "p99" },
      { title: "Retries", name: "sekisho_retries_total", by: ["destination"] },
      { title: "Polls", name: "sekisho_polls_total", by: ["destination"] },
      {
        title: "Open circuits",
        name: "sekisho_circuit_open",
        by: ["destination"],
        statistic: "Maximum",
      },
    ],
    [
      { title: "Messages at the entry", name: "sekisho_messages_total", by: ["result"] },
      { title: "Requests refused", name: "sekisho_requests_refused_total", by: ["reason"] },
      { title: "Messages refused", name: "sekisho_refusals_total", by: ["kind"] },
      {
        title: "From the entry to the worker: p99",
        name: "sekisho_queue_wait_seconds",
        statistic: "p99",
      },
    ],
    [
      { title: "Answers delivered", name: "sekisho_answers_delivered_total" },
      { title: "Answers undelivered", name: "sekisho_answers_undelivered_total" },
      { title: "Calls to Slack", name: "sekisho_slack_calls_total", by: ["result"] },
      { title: "Dead letters", name: "sekisho_dead_letters_total", by: ["message"] },
    ],
    [
      { title: "Tokens", name: "sekisho_tokens_total", by: ["destination", "direction"] },
      ...(hasAsker ? [askerGraph] : []),
    ],
  ]);
}

const askerGraph: Graph = {
  title: "Tokens of who asked that failed",
  name: "sekisho_asker_failures_total",
  by: ["reason"],
};

/** Watches the agents of an Execution zone on Lambda, and draws the dashboard of the zone. */
export function watchAgents(
  scope: Construct,
  { alarm, stageName }: { alarm: AddAlarm; stageName: string },
): void {
  const { failureMajority, rows } = createZoneMetrics({ stageName, zone: "execution" });
  alarm("AgentFails", {
    metric: failureMajority("more than half of the runs fail", "sekisho_executions_total", {
      state: "failed",
    }),
    threshold: 0,
    description:
      "More than half of the agent's runs fail, and their users read an error instead of an answer. Look for agent_threw and model_refused in the log of the function Worker.",
  });
  const widgets = rows([
    [
      { title: "Runs by state", name: "sekisho_executions_total", by: ["state"] },
      { title: "Runs by reason", name: "sekisho_executions_total", by: ["state", "reason"] },
    ],
    [
      { title: "Agent: p50", name: "sekisho_agent_seconds", statistic: "p50" },
      { title: "Agent: p99", name: "sekisho_agent_seconds", statistic: "p99" },
      { title: "Requests refused", name: "sekisho_requests_refused_total", by: ["reason"] },
    ],
  ]);
  new Dashboard(scope, "Dashboard", { widgets });
}
