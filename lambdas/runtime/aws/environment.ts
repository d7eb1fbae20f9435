/** Reads the environment of an entry on AWS. */

import { version } from "../version.ts";
import type { AwsCredentials, AwsDependencies } from "./credentials.ts";
import { findPartition } from "./partitions.ts";

/** For Lambda, whose credentials are in the environment and stay valid as long as the process lives. Throws if a variable is missing. */
export function readAwsEnvironment(variables: NodeJS.ProcessEnv = process.env): AwsDependencies {
  const credentials: AwsCredentials = {
    accessKeyId: requireVariable(variables, "AWS_ACCESS_KEY_ID"),
    secretAccessKey: requireVariable(variables, "AWS_SECRET_ACCESS_KEY"),
    ...(variables.AWS_SESSION_TOKEN ? { sessionToken: variables.AWS_SESSION_TOKEN } : {}),
  };
  const region = requireVariable(variables, "AWS_REGION");
  return {
    region,
    credentials: async () => credentials,
    endpointOf: createEndpointResolver({ region, variables }),
  };
}

/**
 * Returns the region's endpoints, as the SDK finds them. `AWS_ENDPOINT_URL_SQS` and the like take precedence over `AWS_ENDPOINT_URL`, and
 * both over AWS's own endpoints. `AWS_USE_FIPS_ENDPOINT` selects those with cryptography by FIPS 140. The result throws if a variable is
 * not a URL.
 */
export function createEndpointResolver(options: {
  region: string;
  variables?: NodeJS.ProcessEnv;
}): AwsDependencies["endpointOf"] {
  const { region, variables = process.env } = options;
  const { dnsSuffix } = findPartition(region);
  const isFips = variables.AWS_USE_FIPS_ENDPOINT === "true";
  const isOverridden = variables.AWS_IGNORE_CONFIGURED_ENDPOINT_URLS !== "true";
  return (service) => {
    const serviceId = service === "secretsmanager" ? "secrets_manager" : service.replace("-", "_");
    const own = `AWS_ENDPOINT_URL_${serviceId.toUpperCase()}`;
    const name = [own, "AWS_ENDPOINT_URL"].find((each) => isOverridden && variables[each]);
    if (name !== undefined) return parseEndpoint(name, variables[name] ?? "");
    // In the partition for the US government, only some services have a second endpoint for that.
    const hasFipsName = isFips && (!region.startsWith("us-gov-") || service === "secretsmanager");
    return new URL(`https://${service}${hasFipsName ? "-fips" : ""}.${region}.${dnsSuffix}/`);
  };
}

function parseEndpoint(name: string, text: string): URL {
  const url = URL.parse(text.endsWith("/") ? text : `${text}/`);
  if (url === null) throw new Error(`The environment variable ${name} is not a URL.`);
  return url;
}

/** The same for another region. */
export function withRegion({
  aws,
  region,
}: {
  aws: AwsDependencies;
  region: string;
}): AwsDependencies {
  return region === aws.region
    ? aws
    : { ...aws, region, endpointOf: createEndpointResolver({ region }) };
}

/**
 * Returns the headers by which AWS connects a call with the invocation that makes it, as the SDK does. Without them Lambda does not notice
 * a loop of functions. The runtime sets the variable for each invocation; where invocations share a process, its store has the value.
 */
export function readTraceHeaders(
  variables: NodeJS.ProcessEnv = process.env,
): Record<string, string> {
  const { awslambda } = globalThis as { awslambda?: { InvokeStore?: InvokeStore } };
  const store = awslambda?.InvokeStore;
  const traceId = store?.getXRayTraceId?.() ?? variables._X_AMZN_TRACE_ID;
  const traceparent = store?.getTraceparent?.();
  const tracestate = store?.getTracestate?.();
  const baggage = store?.getBaggage?.();
  return {
    ...(variables.AWS_LAMBDA_FUNCTION_NAME && traceId && { "x-amzn-trace-id": traceId }),
    ...(traceparent && {
      traceparent,
      ...(tracestate && { tracestate }),
      ...(baggage && { baggage }),
    }),
  };
}

/** The values of the current invocation, as the package `@aws/lambda-invoke-store` has them, which the runtime loads. */
type InvokeStore = {
  getXRayTraceId?(): string | undefined;
  getTraceparent?(): string | undefined;
  getTracestate?(): string | undefined;
  getBaggage?(): string | undefined;
};

/** AWS's own limit (https://docs.aws.amazon.com/sdkref/latest/guide/feature-appid.html). */
const maxAppIdLength = 50;

/**
 * Returns the `User-Agent` of our own calls, by which CloudTrail tells who called: `sekisho/VERSION`, and `app/ID` if `AWS_SDK_UA_APP_ID` is
 * set. Like the SDK, it replaces characters that AWS does not allow in an id, and warns of one that is too long but sends it.
 */
export function readUserAgent(variables: NodeJS.ProcessEnv = process.env): string {
  const { AWS_SDK_UA_APP_ID: id = "" } = variables;
  if (id === "") return `sekisho/${version}`;
  if (id.length > maxAppIdLength) {
    process.emitWarning(
      `AWS_SDK_UA_APP_ID has more than ${maxAppIdLength} characters. Set a shorter one.`,
    );
  }
  return `sekisho/${version} app/${id.replace(/[^!$%&'*+\-.^_`|~\w#]/g, "-")}`;
}

/** Throws an error that names the missing variable. */
export function requireVariable(variables: NodeJS.ProcessEnv, name: string): string {
  const value = variables[name];
  if (!value) throw new Error(`The environment variable ${name} is not set.`);
  return value;
}

/** The stage's namespace in CloudWatch, `Sekisho/STAGE`; undefined if metrics are off. */
export function readMetricsNamespace(
  variables: NodeJS.ProcessEnv = process.env,
): string | undefined {
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
