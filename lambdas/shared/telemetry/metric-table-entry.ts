/** The metrics of the entry, apart from all others: what the ingress loads counts in its cold start. */
import type { Metric } from "./metric.ts";

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
