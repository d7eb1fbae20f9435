/** The ingress's way into the queue of SQS: one hand-signed call. */

import type { AwsDependencies } from "../../shared/aws/credentials.ts";
import { createJsonCall } from "../../shared/aws/json-call.ts";
import { sqsText } from "../../shared/engine/aws/sqs-text.ts";
import type { IngressQueue } from "./ingress.ts";

/** Rejects with an AwsCallError, or as node:https does. A message that is sent twice is one task all the same. */
export function createSendToQueue({
  queueUrl,
  timeoutMs = 2000,
  ...dependencies
}: AwsDependencies & { queueUrl: string; timeoutMs?: number }): IngressQueue {
  const call = createJsonCall({ ...dependencies, service: "sqs", version: "1.0" });
  return {
    async send({ body, group }) {
      const input = { QueueUrl: queueUrl, MessageBody: sqsText(body), MessageGroupId: group };
      await call({ target: "AmazonSQS.SendMessage", input, signal: AbortSignal.timeout(timeoutMs) });
    },
  };
}
