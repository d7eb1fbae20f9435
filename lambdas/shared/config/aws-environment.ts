/** Reads the environment of an entry on AWS, and the configuration file that the deploy wrote beside it. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { AwsCredentials, AwsDependencies } from "../aws/credentials.ts";
import { errorKind } from "../telemetry/error-kind.ts";

/** For Lambda, whose credentials are in the environment and stay valid as long as the process lives. Throws if a variable is missing. */
export function readAwsEnvironment(variables: NodeJS.ProcessEnv = process.env): AwsDependencies {
  const credentials: AwsCredentials = {
    accessKeyId: requireVariable(variables, "AWS_ACCESS_KEY_ID"),
    secretAccessKey: requireVariable(variables, "AWS_SECRET_ACCESS_KEY"),
    ...(variables.AWS_SESSION_TOKEN ? { sessionToken: variables.AWS_SESSION_TOKEN } : {}),
  };
  const region = requireVariable(variables, "AWS_REGION");
  return { region, credentials: async () => credentials, endpointOf: createEndpointResolver({ region, variables }) };
}

/** `AWS_ENDPOINT_URL` takes precedence over the region's endpoints, as with the SDKs. The result throws if it is not a URL. */
export function createEndpointResolver(options: {
  region: string;
  variables?: NodeJS.ProcessEnv;
}): AwsDependencies["endpointOf"] {
  const { region, variables = process.env } = options;
  const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
  return (service) => {
    const url = URL.parse(variables.AWS_ENDPOINT_URL || `https://${service}.${region}.${domain}/`);
    if (url === null) throw new Error("The environment variable AWS_ENDPOINT_URL is not a URL.");
    return url;
  };
}

/** Throws an error that names the missing variable. */
export function requireVariable(variables: NodeJS.ProcessEnv, name: string): string {
  const value = variables[name];
  if (!value) throw new Error(`The environment variable ${name} is not set.`);
  return value;
}

/** The stage's namespace in CloudWatch, `Sekisho/STAGE`; undefined if metrics are off. */
export function readMetricsNamespace(variables: NodeJS.ProcessEnv = process.env): string | undefined {
  return variables.SEKISHO_METRICS_NAMESPACE || undefined;
}

/** The attributes that describe the running function, by OpenTelemetry's semantic conventions for resources (cloud and faas). */
export function functionResource({ region }: { region: string }): Record<string, string> {
  const { AWS_LAMBDA_FUNCTION_NAME: name, AWS_LAMBDA_FUNCTION_VERSION: version } = process.env;
  return {
    "cloud.provider": "aws",
    "cloud.platform": "aws_lambda",
    "cloud.region": region,
    ...(name && { "faas.name": name }),
    ...(version && { "faas.version": version }),
  };
}

/**
 * The alias of the worker function that operators invoke; event sources invoke the function itself. IAM compares the whole ARN, so a
 * permission for the alias does not include the function. Lambda tells the handler which one was invoked.
 */
export const operatorAlias = "operator";

/** Reads `config.json` in the handler's folder, which has only the sections that the handler needs. Throws if it is missing or invalid JSON. */
export function readBundledConfig(directory: string): unknown {
  const file = join(directory, "config.json");
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (thrown) {
    // The message of JSON.parse quotes the file's text, which belongs in no log.
    const problem = thrown instanceof SyntaxError ? "is not JSON" : `cannot be read (${errorKind(thrown)})`;
    throw new Error(`${file} ${problem}. Bundle it again.`);
  }
}
