/** The zones' own metrics as CloudWatch has them: by the names and the dimensions of the table, and by no others. */
import { Duration } from "aws-cdk-lib";
import { GraphWidget, MathExpression, Metric } from "aws-cdk-lib/aws-cloudwatch";
import { type MetricName, metricTable } from "../../lambdas/shared/telemetry/metric-table.ts";

type Asked = { name: MetricName; statistic: string; periodMinutes?: number };

export type Measured = {
  /** One metric. `of` has a value for each label of one of the table's dimension sets. */
  metric(request: Asked & { of?: Record<string, string> }): Metric;
  /** A graph with a line for each combination of values of `by`, one of the table's dimension sets. */
  graph(request: Asked & { title: string; by?: readonly string[]; width?: number }): GraphWidget;
};

/** Throws for dimensions that the functions do not write: an alarm on them would never hear of anything. */
export function createMeasured({
  namespace,
  zone,
}: {
  namespace: string;
  zone: "verification" | "execution";
}): Measured {
  return {
    metric({ name, statistic, periodMinutes = 5, of = {} }) {
      requireDimensions(name, Object.keys(of));
      const period = Duration.minutes(periodMinutes);
      return new Metric({ namespace, metricName: name, dimensionsMap: { zone, ...of }, statistic, period });
    },
    graph({ name, statistic, periodMinutes = 5, title, by = [], width = 12 }) {
      requireDimensions(name, by);
      const schema = [`"${namespace}"`, "zone", ...by].join(",");
      const expression = `SEARCH('{${schema}} MetricName="${name}" zone="${zone}"', '${statistic}')`;
      const period = Duration.minutes(periodMinutes);
      return new GraphWidget({ title, left: [new MathExpression({ expression, label: "", period })], width });
    },
  };
}

function requireDimensions(name: MetricName, labels: readonly string[]): void {
  const row = metricTable[name];
  const sets: readonly (readonly string[])[] = "dimensions" in row ? row.dimensions : [];
  const isKept = sets.some((set) => set.length === labels.length && labels.every((label) => set.includes(label)));
  if (!isKept) throw new Error(`${name} is not kept by ${JSON.stringify(labels)} (metric-table.ts).`);
}
