/** What the environment says on AWS: region, credentials, for emulators another address, and what Lambda says of a function. */
import type { AwsCredentials, AwsDependencies } from "../aws/credentials.ts";

/** In Lambda, where a function's credentials are in its environment and last as long as that does. Throws where one is missing. */
export function readAwsEnvironment(variables: NodeJS.ProcessEnv = process.env): AwsDependencies {
  const credentials: AwsCredentials = {
    accessKeyId: requireVariable(variables, "AWS_ACCESS_KEY_ID"),
    secretAccessKey: requireVariable(variables, "AWS_SECRET_ACCESS_KEY"),
    ...(variables.AWS_SESSION_TOKEN ? { sessionToken: variables.AWS_SESSION_TOKEN } : {}),
  };
  const region = requireVariable(variables, "AWS_REGION");
  return { region, credentials: async () => credentials, endpointOf: createEndpointResolver({ region, variables }) };
}

/** `AWS_ENDPOINT_URL` goes before the region's own addresses, as with the SDKs. */
export function createEndpointResolver({
  region,
  variables = process.env,
}: {
  region: string;
  variables?: NodeJS.ProcessEnv;
}): AwsDependencies["endpointOf"] {
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return (service) => new URL(variables.AWS_ENDPOINT_URL || `https://${service}.${region}.${domain}/`);
}

/** The value, or an error that names the variable: whoever deploys without it learns at once which one is missing. */
export function requireVariable(variables: NodeJS.ProcessEnv, name: string): string {
  const value = variables[name];
  if (!value) throw new Error(`The environment variable ${name} is not set.`);
  return value;
}

/** CloudWatch's namespace of the stage, `Sekisho/STAGE`; undefined where metrics are switched off. */
export function readMetricsNamespace(variables: NodeJS.ProcessEnv = process.env): string | undefined {
  return variables.SEKISHO_METRICS_NAMESPACE || undefined;
}

/** As spans are told of the function that runs (semantic conventions for resources: cloud and faas). */
export function functionResource({
  region,
  variables = process.env,
}: {
  region: string;
  variables?: NodeJS.ProcessEnv;
}): Record<string, string> {
  const { AWS_LAMBDA_FUNCTION_NAME: name, AWS_LAMBDA_FUNCTION_VERSION: version } = variables;
  return {
    "cloud.provider": "aws",
    "cloud.platform": "aws_lambda",
    "cloud.region": region,
    ...(name && { "faas.name": name }),
    ...(version && { "faas.version": version }),
  };
}
