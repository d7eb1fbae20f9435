/** What the environment says of AWS: region, credentials and, for emulators, another address. */
import type { AwsCredentials, AwsDependencies } from "../aws/credentials.ts";

/** In Lambda, where a function's credentials are in its environment and last as long as that does. Throws where one is missing. */
export function readAwsEnvironment(variables: NodeJS.ProcessEnv = process.env): AwsDependencies {
  const credentials: AwsCredentials = {
    accessKeyId: required(variables, "AWS_ACCESS_KEY_ID"),
    secretAccessKey: required(variables, "AWS_SECRET_ACCESS_KEY"),
    ...(variables.AWS_SESSION_TOKEN ? { sessionToken: variables.AWS_SESSION_TOKEN } : {}),
  };
  const region = required(variables, "AWS_REGION");
  return { region, credentials: async () => credentials, endpointOf: endpointsOf({ region, variables }) };
}

/** `AWS_ENDPOINT_URL` goes before the region's own addresses, as with the SDKs. */
export function endpointsOf({
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
export function required(variables: NodeJS.ProcessEnv, name: string): string {
  const value = variables[name];
  if (!value) throw new Error(`The environment variable ${name} is not set.`);
  return value;
}
