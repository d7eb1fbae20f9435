/** Every metric that there is: the same names in Prometheus and in CloudWatch. Labels take values of closed lists or of the configuration. */

/** `labels` name what a value is told apart by; a person, a channel or an id is never one. */
export const metricTable = {
  sekisho_messages_total: {
    kind: "counter",
    labels: ["entry", "result"],
    help: "What Slack sent and was proven to have sent, by what became of it at the entry.",
  },
} as const satisfies Record<string, Metric>;

type Kind = "counter" | "histogram" | "gauge";
type Metric = { kind: Kind; labels: readonly string[]; help: string; buckets?: readonly number[] };
type Table = typeof metricTable;

export type MetricName<K extends Kind = Kind> = {
  [N in keyof Table]: Table[N]["kind"] extends K ? N : never;
}[keyof Table];
export type LabelsOf<N extends MetricName> = Record<Table[N]["labels"][number], string>;
