/** What of the agents is watched where they run on Lambda, by the Execution zone's own metrics; and the dashboard of it. */
import { Dashboard, MathExpression } from "aws-cdk-lib/aws-cloudwatch";
import type { Construct } from "constructs";
import { type AddAlarm, createZoneMetrics } from "./alarms.ts";

/** A share of few says little. */
const leastFailures = 5;
const mostFailing = 0.5;

export function watchAgents(scope: Construct, { alarm, namespace }: { alarm: AddAlarm; namespace: string }): void {
  const { metric, graph } = createZoneMetrics({ namespace, zone: "execution" });
  alarm("AgentFails", {
    metric: new MathExpression({
      label: "more than half of the runs fail",
      expression: `IF(failed >= ${leastFailures} AND failed / total > ${mostFailing}, 1, 0)`,
      usingMetrics: {
        failed: metric({ name: "sekisho_executions_total", of: { state: "failed" }, statistic: "Sum" }),
        total: metric({ name: "sekisho_executions_total", statistic: "Sum" }),
      },
    }),
    threshold: 0,
    what: "More than half of the agent's runs fail. See agent_threw and model_refused in the log of the function Worker.",
  });
  new Dashboard(scope, "Dashboard", {
    widgets: [
      [
        graph({ title: "Runs by state", name: "sekisho_executions_total", by: ["state"], statistic: "Sum" }),
        graph({ title: "Runs by reason", name: "sekisho_executions_total", by: ["state", "reason"], statistic: "Sum" }),
      ],
      [
        graph({ title: "Agent: p50", name: "sekisho_agent_seconds", statistic: "p50", width: 8 }),
        graph({ title: "Agent: p99", name: "sekisho_agent_seconds", statistic: "p99", width: 8 }),
        graph({
          title: "Requests refused",
          name: "sekisho_requests_refused_total",
          by: ["reason"],
          statistic: "Sum",
          width: 8,
        }),
      ],
    ],
  });
}
