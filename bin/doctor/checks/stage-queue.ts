/** How much waits in the queues of a stage. Nothing is put in, and nothing taken out. */
import { GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { sqsSettings } from "../../../lambdas/shared/engine/aws/client.ts";
import { callAws } from "../../aws/aws-failure.ts";
import type { StackOutputs } from "../../aws/stack-outputs.ts";
import { type Check, ok, warning } from "../check.ts";

/** More than a healthy worker leaves for longer than a moment. */
const manyWaiting = 100;

type StageQueue = { stageName: string; region: string; outputs: () => Promise<StackOutputs> };

export function stageQueue({ stageName, region, outputs }: StageQueue): Check {
  return {
    name: "queue",
    async run({ signal }) {
      const { queueUrl } = await outputs();
      const { waiting, underWay, delayed } = await depthOf({ queueUrl, region, signal });
      const what = `${waiting} messages wait, ${underWay} are worked at, ${delayed} are for later.`;
      if (waiting <= manyWaiting) return ok(what);
      const remedy = `If they do not get fewer: the alarms MessagesWait, WorkerErrors and WorkerThrottles, then the worker's log. npx sekisho tasks list --stage ${stageName}`;
      return warning(what, remedy);
    },
  };
}

export function deadLetters({ stageName, region, outputs }: StageQueue): Check {
  return {
    name: "dead letters",
    async run({ signal }) {
      const { deadLettersUrl } = await outputs();
      const { waiting, underWay } = await depthOf({ queueUrl: deadLettersUrl, region, signal });
      const kept = waiting + underWay;
      if (kept === 0) return ok("None are kept.");
      const remedy = `npx sekisho dead-letters list --stage ${stageName}, and when the cause is gone, redrive.`;
      return warning(`${kept} are kept: messages that the workers gave up on.`, remedy);
    },
  };
}

type Depth = { waiting: number; underWay: number; delayed: number };

async function depthOf({
  queueUrl,
  region,
  signal,
}: {
  queueUrl: string;
  region: string;
  signal: AbortSignal;
}): Promise<Depth> {
  const sqs = new SQSClient({ ...sqsSettings, region });
  const command = new GetQueueAttributesCommand({
    QueueUrl: queueUrl,
    AttributeNames: [
      "ApproximateNumberOfMessages",
      "ApproximateNumberOfMessagesNotVisible",
      "ApproximateNumberOfMessagesDelayed",
    ],
  });
  try {
    const { Attributes = {} } = await callAws({
      doing: "look how much waits in a queue",
      signal,
      call: (options) => sqs.send(command, options),
    });
    return {
      waiting: Number(Attributes.ApproximateNumberOfMessages ?? 0),
      underWay: Number(Attributes.ApproximateNumberOfMessagesNotVisible ?? 0),
      delayed: Number(Attributes.ApproximateNumberOfMessagesDelayed ?? 0),
    };
  } finally {
    sqs.destroy();
  }
}
