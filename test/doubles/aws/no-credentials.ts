/** Credentials for destinations that sign nothing. */
import type { AwsCredentialsProvider } from "@sekisho/runtime/aws/credentials.ts";

export const noCredentials: AwsCredentialsProvider = () =>
  Promise.reject(new Error("No destination signs."));
