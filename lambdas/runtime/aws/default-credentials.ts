/** The SDK's default credential chain: environment, profile, container, instance. */
import type { AwsCredentialsProvider } from "./credentials.ts";

/** Loads the SDK at the first call. The chain caches credentials until they expire. */
export function defaultAwsCredentials(): AwsCredentialsProvider {
  let provider: Promise<AwsCredentialsProvider> | undefined;
  return async () => {
    provider ??= import("@aws-sdk/credential-provider-node").then(({ defaultProvider }) =>
      defaultProvider(),
    );
    return (await provider)();
  };
}
