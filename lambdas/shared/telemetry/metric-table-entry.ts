/** The metrics of the entry, apart from all others: what the ingress loads counts in its cold start. */

/**
 * `labels` name what a value is told apart by; a person, a channel or an id is never one. `dimensions` are the sets of labels
 * by which CloudWatch keeps it, each combination of values being a metric that costs; without them it is not sent there.
 */
export type Metric = {
  kind: "counter" | "histogram" | "gauge";
  labels: readonly string[];
  dimensions?: readonly (readonly string[])[];
  help: string;
  /** Upper bounds, in the unit that the name ends with. */
  buckets?: readonly number[];
};

export const entryMetricTable = {
  sekisho_messages_total: {
    kind: "counter",
    labels: ["entry", "result"],
    dimensions: [["result"]],
    help: "What Slack sent and was proven to have sent, by what became of it at the entry.",
  },
  sekisho_requests_refused_total: {
    kind: "counter",
    labels: ["zone", "reason"],
    dimensions: [["reason"]],
    help: "Requests that were not let in, or not understood.",
  },
} as const satisfies Record<string, Metric>;
