/** The rules of the embedded metric format, as its specification has them in words and as a JSON schema. */

export type EmfDocument = {
  _aws: {
    Timestamp: number;
    CloudWatchMetrics: {
      Namespace: string;
      Dimensions: string[][];
      Metrics: { Name: string; Unit: string }[];
    }[];
  };
} & Record<string, unknown>;

/** https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html */
export function emfProblems(document: EmfDocument): string[] {
  const { _aws: metadata, ...root } = document;
  const directives = metadata.CloudWatchMetrics;
  return [
    ...(Number.isInteger(metadata.Timestamp) ? [] : ["Timestamp is no integer"]),
    ...(directives.length > 0 ? [] : ["no directive"]),
    ...(Buffer.byteLength(JSON.stringify(document)) <= 256 * 1024
      ? []
      : ["larger than a log event"]),
    ...directives.flatMap(({ Namespace, Dimensions, Metrics, ...more }) => [
      ...(Object.keys(more).length === 0 ? [] : ["further members of a directive"]),
      ...(/^[A-Za-z0-9./_#:-]{1,255}$/.test(Namespace) ? [] : ["the namespace"]),
      ...(Dimensions.length > 0 ? [] : ["no dimension set"]),
      ...Dimensions.flatMap((set) => dimensionProblems(set, root)),
      ...(Metrics.length > 0 && Metrics.length <= 100 ? [] : ["no metrics, or too many"]),
      ...Metrics.flatMap(({ Name, Unit }) => metricProblems({ Name, Unit }, root)),
    ]),
  ];
}

function dimensionProblems(set: string[], root: Record<string, unknown>): string[] {
  const isFine = set.length >= 1 && set.length <= 30 && new Set(set).size === set.length;
  const values = set.flatMap((key) => {
    const value = root[key];
    // What is a dimension must be ASCII with something in it.
    return typeof value === "string" && /^[\x20-\x7e]{1,1024}$/.test(value) && value.trim() !== ""
      ? []
      : [`dimension ${key}`];
  });
  return [...(isFine ? [] : ["a dimension set"]), ...values];
}

function metricProblems(
  { Name, Unit }: { Name: string; Unit: string },
  root: Record<string, unknown>,
): string[] {
  const value = root[Name];
  const isNumbers =
    Array.isArray(value) &&
    value.length >= 1 &&
    value.length <= 100 &&
    value.every(Number.isFinite);
  return [
    ...(Number.isFinite(value) || isNumbers ? [] : [`the value of ${Name}`]),
    ...(Unit === "Count" || Unit === "Seconds" ? [] : [`the unit of ${Name}`]),
  ];
}
