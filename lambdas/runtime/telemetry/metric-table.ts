/** All metrics, with the same names in Prometheus and CloudWatch. Label values come from closed lists or from the configuration. */

import type { Metric } from "./metric-table-entry.ts";
import { entryMetricTable } from "./metric-table-entry.ts";

/** Seconds, from a call that is answered at once to a task of hours. */
const callBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const taskBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 14_400];

export const metricTable = {
  ...entryMetricTable,
  sekisho_queue_wait_seconds: {
    kind: "histogram",
    labels: [],
    dimensions: [[]],
    help: "How long a new message waited between the ingress and the worker.",
    buckets: callBuckets,
  },
  sekisho_queue_oldest_seconds: {
    kind: "gauge",
    labels: ["queue"],
    help: "How long the oldest due message has waited. On AWS, SQS has its own metric.",
  },
  sekisho_queue_messages: {
    kind: "gauge",
    labels: ["queue"],
    help: "Due messages that wait. On AWS, SQS has its own metric.",
  },
  sekisho_tasks_total: {
    kind: "counter",
    labels: ["outcome", "reason", "destination"],
    dimensions: [[], ["outcome"], ["outcome", "reason"], ["destination", "outcome"]],
    help: "Tasks that are over, by the outcome that their users see.",
  },
  sekisho_task_seconds: {
    kind: "histogram",
    labels: ["outcome", "destination"],
    dimensions: [["outcome"]],
    help: "How long tasks took from Slack's event to the answer in the thread.",
    buckets: taskBuckets,
  },
  sekisho_stage_seconds: {
    kind: "histogram",
    labels: ["stage"],
    dimensions: [["stage"]],
    help: "How long tasks were in each state of their record.",
    buckets: taskBuckets,
  },
  sekisho_refusals_total: {
    kind: "counter",
    labels: ["kind"],
    dimensions: [["kind"]],
    help: "Messages that started no task and got an explanation or no answer.",
  },
  sekisho_calls_total: {
    kind: "counter",
    labels: ["destination", "operation", "result"],
    dimensions: [["destination", "result"]],
    help: "Calls to destinations, including retries and calls that an open circuit refused.",
  },
  sekisho_call_seconds: {
    kind: "histogram",
    labels: ["destination", "operation"],
    dimensions: [["operation"]],
    help: "How long calls to destinations took, including retries. A poll may be held at the peer until the task changes.",
    buckets: callBuckets,
  },
  sekisho_retries_total: {
    kind: "counter",
    labels: ["destination", "operation"],
    dimensions: [["destination"]],
    help: "Retries within calls to destinations.",
  },
  sekisho_polls_total: {
    kind: "counter",
    labels: ["destination", "result"],
    dimensions: [["destination"]],
    help: "Polls for a task that was accepted or may have arrived.",
  },
  sekisho_circuit_open: {
    kind: "gauge",
    labels: ["destination"],
    dimensions: [[], ["destination"]],
    help: "1 while this process does not call a destination after repeated outages. The next successful call resets it to 0.",
  },
  sekisho_slack_calls_total: {
    kind: "counter",
    labels: ["method", "result"],
    dimensions: [["result"]],
    help: "Calls to the Slack Web API, including retries.",
  },
  sekisho_answers_delivered_total: {
    kind: "counter",
    labels: ["outcome"],
    dimensions: [[]],
    help: "Answers that were posted in their threads, including error messages.",
  },
  sekisho_answers_undelivered_total: {
    kind: "counter",
    labels: ["reason"],
    dimensions: [[]],
    help: "Answers that Slack refused. They stay in their task records.",
  },
  sekisho_dead_letters_total: {
    kind: "counter",
    labels: ["message"],
    dimensions: [["message"]],
    help: "Queue messages that became dead letters.",
  },
  sekisho_asker_failures_total: {
    kind: "counter",
    labels: ["reason"],
    dimensions: [[], ["reason"]],
    help: "Tokens that say who asked and could not be made. Nothing was sent in their place.",
  },
  sekisho_tokens_total: {
    kind: "counter",
    labels: ["destination", "direction"],
    dimensions: [["destination", "direction"]],
    help: "Model tokens that agents reported for their answers.",
  },
  sekisho_executions_total: {
    kind: "counter",
    labels: ["state", "reason"],
    dimensions: [[], ["state"], ["state", "reason"]],
    help: "Finished runs of the agent in the Execution zone, by the state of the task afterwards.",
  },
  sekisho_agent_seconds: {
    kind: "histogram",
    labels: ["agent"],
    dimensions: [[]],
    help: "How long the agent worked in one run.",
    buckets: taskBuckets,
  },
  sekisho_runs_under_way: {
    kind: "gauge",
    labels: [],
    help: "Agent runs in progress in this process.",
  },
} as const satisfies Record<string, Metric>;

type Table = typeof metricTable;
type Kind = Metric["kind"];

export type MetricName<K extends Kind = Kind> = {
  [N in keyof Table]: Table[N]["kind"] extends K ? N : never;
}[keyof Table];
export type LabelsOf<N extends MetricName> = Record<Table[N]["labels"][number], string>;
