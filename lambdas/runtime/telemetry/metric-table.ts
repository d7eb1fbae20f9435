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
    help: "Time of a new message from the ingress to the worker.",
    buckets: callBuckets,
  },
  sekisho_queue_oldest_seconds: {
    kind: "gauge",
    labels: ["queue"],
    help: "Age of the oldest due message. On AWS, SQS has its own metric.",
  },
  sekisho_queue_messages: {
    kind: "gauge",
    labels: ["queue"],
    help: "Due messages. On AWS, SQS has its own metric.",
  },
  sekisho_tasks_total: {
    kind: "counter",
    labels: ["outcome", "reason", "destination"],
    dimensions: [[], ["outcome"], ["outcome", "reason"], ["destination", "outcome"]],
    help: "Tasks that are over, by the outcome that users see.",
  },
  sekisho_task_seconds: {
    kind: "histogram",
    labels: ["outcome", "destination"],
    dimensions: [["outcome"]],
    help: "Time of a task from Slack's event to the answer.",
    buckets: taskBuckets,
  },
  sekisho_stage_seconds: {
    kind: "histogram",
    labels: ["stage"],
    dimensions: [["stage"]],
    help: "Time of a task in each state of its record.",
    buckets: taskBuckets,
  },
  sekisho_refusals_total: {
    kind: "counter",
    labels: ["kind"],
    dimensions: [["kind"]],
    help: "Messages that started no task.",
  },
  sekisho_calls_total: {
    kind: "counter",
    labels: ["destination", "operation", "result"],
    dimensions: [["destination", "result"]],
    help: "Calls to destinations, with retries and calls that an open circuit refused.",
  },
  sekisho_call_seconds: {
    kind: "histogram",
    labels: ["destination", "operation"],
    dimensions: [["operation"]],
    help: "Duration of calls to destinations, with retries and held polls.",
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
    help: "Polls of tasks.",
  },
  sekisho_circuit_open: {
    kind: "gauge",
    labels: ["destination"],
    dimensions: [[], ["destination"]],
    help: "1 while this process does not call a destination after repeated outages.",
  },
  sekisho_slack_calls_total: {
    kind: "counter",
    labels: ["method", "result"],
    dimensions: [["result"]],
    help: "Calls to the Slack Web API, with retries.",
  },
  sekisho_answers_delivered_total: {
    kind: "counter",
    labels: ["outcome"],
    dimensions: [[]],
    help: "Answers posted, error messages included.",
  },
  sekisho_answers_undelivered_total: {
    kind: "counter",
    labels: ["reason"],
    dimensions: [[]],
    help: "Answers that Slack refused.",
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
    help: "Tokens of who asked that could not be made; nothing was sent.",
  },
  sekisho_tokens_total: {
    kind: "counter",
    labels: ["destination", "direction"],
    dimensions: [["destination", "direction"]],
    help: "Model tokens that agents reported.",
  },
  sekisho_executions_total: {
    kind: "counter",
    labels: ["state", "reason"],
    dimensions: [[], ["state"], ["state", "reason"]],
    help: "Finished runs of the agent, by the state of the task afterwards.",
  },
  sekisho_agent_seconds: {
    kind: "histogram",
    labels: ["agent"],
    dimensions: [[]],
    help: "Duration of one run of the agent.",
    buckets: taskBuckets,
  },
  sekisho_runs_under_way: {
    kind: "gauge",
    labels: [],
    help: "Runs of agents in progress in this process.",
  },
} as const satisfies Record<string, Metric>;

type Table = typeof metricTable;
type Kind = Metric["kind"];

export type MetricName<K extends Kind = Kind> = {
  [N in keyof Table]: Table[N]["kind"] extends K ? N : never;
}[keyof Table];
export type LabelsOf<N extends MetricName> = Record<Table[N]["labels"][number], string>;
