/** The limits of the engine's clients: the time for a call of DynamoDB or SQS, and the SDK's attempts. */

/** For `new DynamoDBClient(...)`. The SDK repeats failed calls, and the store recognizes its own repeated writes. */
export const dynamoDbSettings = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 1000, requestTimeout: 3000, throwOnRequestTimeout: true },
} as const;

/** For `new SQSClient(...)`. The endpoint is the service's or AWS_ENDPOINT_URL, never the host of a queue's URL. */
export const sqsSettings = { ...dynamoDbSettings, useQueueUrlAsEndpoint: false } as const;

/** The limit for all attempts of one call. */
const callTimeoutMs = 10_000;

/** The limits of one call. `waitMs` is the time of a long poll. */
export function callLimits({ signal, waitMs = 0 }: { signal?: AbortSignal | undefined; waitMs?: number } = {}): {
  abortSignal: AbortSignal;
  requestTimeout: number;
} {
  const limit = AbortSignal.timeout(callTimeoutMs + waitMs);
  return {
    abortSignal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    requestTimeout: dynamoDbSettings.requestHandler.requestTimeout + waitMs,
  };
}
