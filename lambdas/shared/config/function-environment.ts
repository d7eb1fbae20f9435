/** What Lambda says of the function that runs, as spans are told of it (semantic conventions for resources: cloud and faas). */

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
