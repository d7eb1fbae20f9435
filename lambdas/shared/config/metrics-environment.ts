/** What the environment says of metrics, in Lambda. */

/** CloudWatch's namespace of the stage, `Sekisho/STAGE`; undefined where metrics are switched off. */
export function readMetricsNamespace(variables: NodeJS.ProcessEnv = process.env): string | undefined {
  return variables.SEKISHO_METRICS_NAMESPACE || undefined;
}
