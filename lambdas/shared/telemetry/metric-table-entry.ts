/** The metrics of the ingress, in a file of their own because everything that the ingress loads counts in its cold start. */

/**
 * `labels` are the label names; a person, a channel or an id is never one. `dimensions` are the sets of labels for CloudWatch, where each
 * combination of values is a metric that costs; without them the metric is not sent there.
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
