/** AWS credentials as a function, so that rotated ones are seen. */

export type AwsCredentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
};
export type AwsCredentialsProvider = () => Promise<AwsCredentials>;

/** Region, credentials and endpoints for every call to AWS. */
export type AwsDependencies = {
  region: string;
  credentials: AwsCredentialsProvider;
  /** The address of a service (its endpoint prefix, such as `sqs`): the region's own, unless it is overridden. */
  endpointOf(service: string): URL;
};
