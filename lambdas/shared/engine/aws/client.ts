/** The limits of all clients of the engine: how long a call of DynamoDB or SQS may take, and how often the SDK tries. */

/** For `new DynamoDBClient(...)`. The SDK repeats a call that failed on the way; the store recognises its own repeated writes. */
export const dynamoDbSettings = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 1000, requestTimeout: 3000, throwOnRequestTimeout: true },
} as const;

/** For `new SQSClient(...)`. The endpoint is the service's (or AWS_ENDPOINT_URL), never the host of a queue's URL. */
export const sqsSettings = { ...dynamoDbSettings, useQueueUrlAsEndpoint: false } as const;

/** All attempts of one call together. */
const callTimeoutMs = 10_000;

/** The limits of one call; `waitMs` is what the service itself may wait before it answers (a long poll). */
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
