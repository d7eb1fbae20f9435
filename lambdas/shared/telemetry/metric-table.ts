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
    help: "How long a new message waited from the entry to the worker.",
    buckets: callBuckets,
  },
  sekisho_queue_oldest_seconds: {
    kind: "gauge",
    labels: ["queue"],
    help: "How long the message that has waited longest is due; on AWS that is SQS's own metric.",
  },
  sekisho_queue_messages: {
    kind: "gauge",
    labels: ["queue"],
    help: "Messages that are due and wait; on AWS that is SQS's own metric.",
  },
  sekisho_tasks_total: {
    kind: "counter",
    labels: ["outcome", "reason", "destination"],
    dimensions: [[], ["outcome"], ["outcome", "reason"], ["destination", "outcome"]],
    help: "Tasks that are over, by what their users read.",
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
    help: "Messages that were answered with words of ours in place of being done, or with nothing.",
  },
  sekisho_calls_total: {
    kind: "counter",
    labels: ["destination", "operation", "result"],
    dimensions: [["destination", "result"]],
    help: "Calls to destinations with their repetitions, also those that an open circuit refused.",
  },
  sekisho_call_seconds: {
    kind: "histogram",
    labels: ["destination", "operation"],
    dimensions: [["operation"]],
    help: "How long calls to destinations took with their repetitions; a poll may be held there for news.",
    buckets: callBuckets,
  },
  sekisho_retries_total: {
    kind: "counter",
    labels: ["destination", "operation"],
    dimensions: [["destination"]],
    help: "Repetitions within calls to destinations.",
  },
  sekisho_polls_total: {
    kind: "counter",
    labels: ["destination", "result"],
    dimensions: [["destination"]],
    help: "Looks for the result of a task that was accepted, or that may have arrived.",
  },
  sekisho_circuit_open: {
    kind: "gauge",
    labels: ["destination"],
    dimensions: [[], ["destination"]],
    help: "1 while a destination is not called in this process after outages in a row; the next call that succeeds sets it back.",
  },
  sekisho_slack_calls_total: {
    kind: "counter",
    labels: ["method", "result"],
    dimensions: [["result"]],
    help: "Exchanges with Slack, repetitions among them.",
  },
  sekisho_answers_delivered_total: {
    kind: "counter",
    labels: ["outcome"],
    dimensions: [[]],
    help: "Answers that are in their threads, those in words of ours among them.",
  },
  sekisho_answers_undelivered_total: {
    kind: "counter",
    labels: ["reason"],
    dimensions: [[]],
    help: "Answers that Slack does not take; they are in their records.",
  },
  sekisho_dead_letters_total: {
    kind: "counter",
    labels: ["message"],
    dimensions: [["message"]],
    help: "Queue messages that were given up.",
  },
  sekisho_tokens_total: {
    kind: "counter",
    labels: ["destination", "direction"],
    dimensions: [["destination", "direction"]],
    help: "Tokens that agents say their answers took.",
  },
  sekisho_executions_total: {
    kind: "counter",
    labels: ["state", "reason"],
    dimensions: [[], ["state"], ["state", "reason"]],
    help: "Runs of the agent in the Execution zone that are over, by the state in which they left their task.",
  },
  sekisho_agent_seconds: {
    kind: "histogram",
    labels: ["agent"],
    dimensions: [[]],
    help: "How long the agent worked in one run.",
    buckets: taskBuckets,
  },
  sekisho_runs_under_way: { kind: "gauge", labels: [], help: "Agents at work in this process." },
} as const satisfies Record<string, Metric>;

type Table = typeof metricTable;
type Kind = Metric["kind"];

export type MetricName<K extends Kind = Kind> = {
  [N in keyof Table]: Table[N]["kind"] extends K ? N : never;
}[keyof Table];
export type LabelsOf<N extends MetricName> = Record<Table[N]["labels"][number], string>;
