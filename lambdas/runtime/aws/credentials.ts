/** AWS credentials as a function, so that rotated ones take effect. */

export type AwsCredentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
};
export type AwsCredentialsProvider = () => Promise<AwsCredentials>;

/** Region, credentials and endpoints, which every call to AWS needs. */
export type AwsDependencies = {
  region: string;
  credentials: AwsCredentialsProvider;
  /** The address of a service, given its endpoint prefix such as `sqs`. */
  endpointOf(service: string): URL;
};
