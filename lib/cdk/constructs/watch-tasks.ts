/** What of the tasks is watched, by the Verification zone's own metrics: that they end well, are delivered, and begin soon. */
import { type IWidget, MathExpression } from "aws-cdk-lib/aws-cloudwatch";
import { type AddAlarm, createZoneMetrics } from "./alarms.ts";

/** A share of few says little. */
const leastFailures = 5;
const mostFailing = 0.5;
/** Far more than a warm worker needs, far less than a person has patience. */
const longestWaitSeconds = 30;

/** Adds the alarms; the rows are for the zone's dashboard. */
export function watchTasks({ alarm, namespace }: { alarm: AddAlarm; namespace: string }): IWidget[][] {
  const { metric, graph } = createZoneMetrics({ namespace, zone: "verification" });
  alarm("TasksFail", {
    metric: new MathExpression({
      label: "more than half of the tasks fail",
      expression: `IF(failed >= ${leastFailures} AND failed / total > ${mostFailing}, 1, 0)`,
      usingMetrics: {
        failed: metric({ name: "sekisho_tasks_total", of: { outcome: "failed" }, statistic: "Sum" }),
        total: metric({ name: "sekisho_tasks_total", statistic: "Sum" }),
      },
    }),
    threshold: 0,
    what: "More than half of the tasks fail. The dashboard says by which reason; see the log of the worker, and npx sekisho doctor.",
  });
  alarm("DestinationDown", {
    metric: metric({ name: "sekisho_circuit_open", statistic: "Maximum" }),
    threshold: 0,
    // Once may be a restart there.
    periods: 2,
    what: "A destination is not reached again and again, so that its circuit is open. The dashboard says which; try npx sekisho destinations check.",
  });
  alarm("AnswersUndelivered", {
    metric: metric({ name: "sekisho_answers_undelivered_total", statistic: "Sum" }),
    threshold: 0,
    what: "Slack does not take an answer: nobody reads it in the thread. See answer_not_delivered in the log of the worker; then 'Deliver again' of npx sekisho operate.",
  });
  alarm("QueueWaits", {
    metric: metric({ name: "sekisho_queue_wait_seconds", statistic: "p99" }),
    threshold: longestWaitSeconds,
    periods: 2,
    what: "New messages wait long before anybody reads that they are at work. Raise scale.workerConcurrency of the stage, or see the alarms of the worker.",
  });
  return [
    [
      graph({ title: "Tasks by outcome", name: "sekisho_tasks_total", by: ["outcome"], statistic: "Sum" }),
      graph({ title: "Tasks by reason", name: "sekisho_tasks_total", by: ["outcome", "reason"], statistic: "Sum" }),
    ],
    [
      graph({ title: "Tasks: p50", name: "sekisho_task_seconds", by: ["outcome"], statistic: "p50", width: 6 }),
      graph({ title: "Tasks: p99", name: "sekisho_task_seconds", by: ["outcome"], statistic: "p99", width: 6 }),
      graph({ title: "Stages: p50", name: "sekisho_stage_seconds", by: ["stage"], statistic: "p50", width: 6 }),
      graph({ title: "Stages: p99", name: "sekisho_stage_seconds", by: ["stage"], statistic: "p99", width: 6 }),
    ],
    [
      graph({
        title: "Tasks by destination",
        name: "sekisho_tasks_total",
        by: ["destination", "outcome"],
        statistic: "Sum",
      }),
      graph({
        title: "Calls by destination",
        name: "sekisho_calls_total",
        by: ["destination", "result"],
        statistic: "Sum",
      }),
    ],
    [
      graph({ title: "Calls: p99", name: "sekisho_call_seconds", by: ["operation"], statistic: "p99", width: 6 }),
      graph({ title: "Retries", name: "sekisho_retries_total", by: ["destination"], statistic: "Sum", width: 6 }),
      graph({ title: "Polls", name: "sekisho_polls_total", by: ["destination"], statistic: "Sum", width: 6 }),
      graph({
        title: "Circuits that are open",
        name: "sekisho_circuit_open",
        by: ["destination"],
        statistic: "Maximum",
        width: 6,
      }),
    ],
    [
      graph({
        title: "Messages at the entry",
        name: "sekisho_messages_total",
        by: ["result"],
        statistic: "Sum",
        width: 6,
      }),
      graph({
        title: "Requests refused",
        name: "sekisho_requests_refused_total",
        by: ["reason"],
        statistic: "Sum",
        width: 6,
      }),
      graph({ title: "Messages refused", name: "sekisho_refusals_total", by: ["kind"], statistic: "Sum", width: 6 }),
      graph({
        title: "From the entry to the worker: p99",
        name: "sekisho_queue_wait_seconds",
        statistic: "p99",
        width: 6,
      }),
    ],
    [
      graph({ title: "Answers delivered", name: "sekisho_answers_delivered_total", statistic: "Sum", width: 6 }),
      graph({ title: "Answers undelivered", name: "sekisho_answers_undelivered_total", statistic: "Sum", width: 6 }),
      graph({ title: "Calls to Slack", name: "sekisho_slack_calls_total", by: ["result"], statistic: "Sum", width: 6 }),
      graph({ title: "Dead letters", name: "sekisho_dead_letters_total", by: ["message"], statistic: "Sum", width: 6 }),
    ],
    [
      graph({
        title: "Tokens",
        name: "sekisho_tokens_total",
        by: ["destination", "direction"],
        statistic: "Sum",
        width: 24,
      }),
    ],
  ];
}
