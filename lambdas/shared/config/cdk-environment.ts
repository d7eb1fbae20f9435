/** What the CDK command line tells the app that it runs: the context of `-c NAME=VALUE`, and where the assembly goes. */

export function readCdkEnvironment(variables: NodeJS.ProcessEnv = process.env): {
  context: Record<string, unknown>;
  outdir: string;
} {
  return { context: JSON.parse(variables.CDK_CONTEXT_JSON || "{}"), outdir: variables.CDK_OUTDIR || "cdk.out" };
}
