/** The SDK's default chain of credentials: environment, profile, container, instance. */
import type { AwsCredentialsProvider } from "./credentials.ts";

/** Loaded at the first call, and its credentials are kept until they expire. */
export function defaultAwsCredentials(): AwsCredentialsProvider {
  let provider: Promise<AwsCredentialsProvider> | undefined;
  return async () => {
    provider ??= import("@aws-sdk/credential-provider-node").then(({ defaultProvider }) => defaultProvider());
    return (await provider)();
  };
}
