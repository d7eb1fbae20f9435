/** The metrics of the ingress. They have a file of their own, because everything that the ingress loads adds to its cold start. */

/**
 * `labels` are label names, never of a person, a channel or an id. `dimensions` are sets of labels for CloudWatch, where every combination
 * of values is a metric that costs money. Without dimensions, the metric is not sent there.
 */
export type Metric = {
  kind: "counter" | "histogram" | "gauge";
  labels: readonly string[];
  dimensions?: readonly (readonly string[])[];
  help: string;
  /** Upper bounds, in the unit at the end of the name. */
  buckets?: readonly number[];
};

export const entryMetricTable = {
  sekisho_messages_total: {
    kind: "counter",
    labels: ["entry", "result"],
    dimensions: [["result"]],
    help: "Verified requests from Slack, by what became of them.",
  },
  sekisho_requests_refused_total: {
    kind: "counter",
    labels: ["zone", "reason"],
    dimensions: [["reason"]],
    help: "Refused or malformed requests.",
  },
} as const satisfies Record<string, Metric>;
