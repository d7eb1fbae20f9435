/** AWS credentials as a function, so that rotated ones are seen. */

export type AwsCredentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
};
export type AwsCredentialsProvider = () => Promise<AwsCredentials>;

/** The SDK's default chain (environment, profile, container, instance), loaded at the first call and kept until they expire. */
export function defaultAwsCredentials(): AwsCredentialsProvider {
  let provider: Promise<AwsCredentialsProvider> | undefined;
  return async () => {
    provider ??= import("@aws-sdk/credential-provider-node").then(({ defaultProvider }) => defaultProvider());
    return (await provider)();
  };
}
