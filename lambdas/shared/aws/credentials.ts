/** AWS credentials as a function, so that rotated ones are seen. */

export type AwsCredentials = {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
  expiration?: Date;
};
export type AwsCredentialsProvider = () => Promise<AwsCredentials>;

/** What every call to AWS needs to know of its surroundings. */
export type AwsSurroundings = {
  region: string;
  credentials: AwsCredentialsProvider;
  /** The address of a service (its endpoint prefix, such as `sqs`): the region's own, unless the surroundings say otherwise. */
  endpointOf(service: string): URL;
};
