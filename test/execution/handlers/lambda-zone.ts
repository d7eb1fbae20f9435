/** Both functions of the Execution zone on Lambda, over an emulated table and emulated queues. */
import { randomUUID } from "node:crypto";
import { DeleteMessageCommand, type Message, ReceiveMessageCommand } from "@aws-sdk/client-sqs";
import type { CreateAgent } from "../../../lambdas/execution/agents/create-agent.ts";
import { createEchoAgent } from "../../../lambdas/execution/agents/echo.ts";
import { createFunctionUrlHandler } from "../../../lambdas/execution/handlers/function-url-handler.ts";
import { createExecutionWorkerHandler } from "../../../lambdas/execution/handlers/worker-handler.ts";
import { emulatorAccess } from "../../doubles/aws/emulators.ts";
import { createQueuePair, createTaskTable } from "../../doubles/aws/emulators-resources.ts";
import type { OpenEmulators } from "../../doubles/aws/open-emulators.ts";
import { callersVariable } from "./payloads/function-url.ts";

const aws = { AWS_REGION: emulatorAccess.region, AWS_ACCESS_KEY_ID: "emulator", AWS_SECRET_ACCESS_KEY: "emulator" };
/** The host's log lines are not asked for here. */
const quiet = { SEKISHO_LOG_LEVEL: "error" };
const context = { getRemainingTimeInMillis: () => 900_000 };

/** Sets the variables of this process, which are for the caller to put back. `execution` is that of the configuration. */
export async function openLambdaZone({
  opened: { emulators, clients },
  execution,
  telemetry = {},
  createAgent = () => createEchoAgent(),
  hasClientsQueue = false,
}: {
  opened: OpenEmulators;
  execution: object;
  telemetry?: object;
  createAgent?: CreateAgent;
  /** Callers other than the Verification zone have a queue of their own. */
  hasClientsQueue?: boolean;
}) {
  const pair = () => createQueuePair({ client: clients.queues, maxReceiveCount: 3 });
  const [table, { queueUrl, deadLettersUrl }, { queueUrl: completionsUrl }, { queueUrl: clientsQueueUrl }] =
    await Promise.all([createTaskTable({ client: clients.dynamo }), pair(), pair(), pair()]);
  Object.assign(process.env, aws, quiet, {
    AWS_ENDPOINT_URL_DYNAMODB: emulators.dynamo.endpoint,
    AWS_ENDPOINT_URL_SQS: emulators.queues.endpoint,
    SEKISHO_TABLE: table,
    SEKISHO_QUEUE_URL: queueUrl,
    SEKISHO_CALLERS: callersVariable,
    ...(hasClientsQueue && { SEKISHO_CLIENTS_QUEUE_URL: clientsQueueUrl }),
    SEKISHO_COMPLETIONS_URL: completionsUrl,
  });
  const config = { execution, telemetry };
  const handle = createFunctionUrlHandler({ config });
  const work = createExecutionWorkerHandler({ config, createAgent });

  async function receive({ from = queueUrl, waitSeconds = 0, signal = new AbortController().signal } = {}) {
    const command = new ReceiveMessageCommand({ QueueUrl: from, WaitTimeSeconds: waitSeconds, MaxNumberOfMessages: 1 });
    const { Messages = [] } = await clients.queues.send(command, { abortSignal: signal });
    return Messages;
  }

  /** As the event source would: what was received becomes one event. */
  async function workOn(messages: readonly Message[]) {
    const bodies = messages.map(({ Body }) => Body ?? "");
    const response = await work({ Records: bodies.map((body) => ({ messageId: randomUUID(), body })) }, context);
    return { bodies, response };
  }

  async function workAndFinish(message: Message): Promise<void> {
    const { response } = await workOn([message]);
    if (response.batchItemFailures.length > 0) return;
    const { ReceiptHandle } = message;
    await clients.queues.send(new DeleteMessageCommand({ QueueUrl: queueUrl, ReceiptHandle }));
  }

  return {
    handle,
    workOnce: async () => workOn(await receive({ waitSeconds: 10 })),
    /** What is in the completion queue. */
    pushed: async () => (await receive({ from: completionsUrl })).map(({ Body = "" }) => JSON.parse(Body) as unknown),
    queued: () => receive(),
    queuedOfClients: () => receive({ from: clientsQueueUrl }),
    deadLetters: () => receive({ from: deadLettersUrl }),
    /** Works on what comes, as an event source does, until it is ended; resolves when all that it began is over. */
    workOnAll(): { end(): Promise<void> } {
      const ending = new AbortController();
      const { signal } = ending;
      const begun: Promise<void>[] = [];
      const loop = async () => {
        while (!signal.aborted) {
          const messages = await receive({ waitSeconds: 20, signal }).catch(() => []);
          begun.push(...messages.map(workAndFinish));
        }
      };
      const looping = loop();
      return {
        async end() {
          ending.abort();
          await looping;
          await Promise.all(begun);
        },
      };
    },
  };
}
