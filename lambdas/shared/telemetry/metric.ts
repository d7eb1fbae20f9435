/** What is said of one metric, wherever it is shown. */

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
