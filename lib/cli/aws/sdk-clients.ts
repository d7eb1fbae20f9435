/** The SDK's clients behind the engine's types, because commands find credentials and settings in the operator's profile. */
import {
  DeleteItemCommand,
  DynamoDBClient,
  type DynamoDBClientConfig,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
  type SQSClientConfig,
} from "@aws-sdk/client-sqs";
import {
  GetParameterCommand,
  GetParameterHistoryCommand,
  SSMClient,
  type SSMClientConfig,
} from "@aws-sdk/client-ssm";
import type { CallLimits } from "@sekisho/runtime/aws/aws-call.ts";
import { type DynamoDb, engineLimits, type Sqs } from "@sekisho/runtime/engine/aws/client.ts";
import { sdkUserAgent } from "@sekisho/runtime/version.ts";
import type { Ssm } from "@sekisho/verification/config/former-settings.ts";

const { timeoutMs, attemptTimeoutMs, connectTimeoutMs, maxAttempts } = engineLimits;

const settings = {
  customUserAgent: sdkUserAgent,
  maxAttempts,
  requestHandler: {
    connectionTimeout: connectTimeoutMs,
    requestTimeout: attemptTimeoutMs,
    throwOnRequestTimeout: true,
  },
};

/** A client that closes its connections with `destroy`. */
type Closable = { destroy(): void };

/** The types of an operation's input and output are those of its command. */
type CommandClass = new (input: never) => object;

const dynamoDbCommands = {
  GetItem: GetItemCommand,
  PutItem: PutItemCommand,
  UpdateItem: UpdateItemCommand,
  TransactWriteItems: TransactWriteItemsCommand,
  DeleteItem: DeleteItemCommand,
  Query: QueryCommand,
  Scan: ScanCommand,
};

const sqsCommands = {
  SendMessage: SendMessageCommand,
  ReceiveMessage: ReceiveMessageCommand,
  DeleteMessage: DeleteMessageCommand,
  ChangeMessageVisibility: ChangeMessageVisibilityCommand,
  GetQueueAttributes: GetQueueAttributesCommand,
};

const ssmCommands = {
  GetParameter: GetParameterCommand,
  GetParameterHistory: GetParameterHistoryCommand,
};

export function openSdkDynamoDb(config: DynamoDBClientConfig): DynamoDb & Closable {
  const client = new DynamoDBClient({ ...settings, ...config });
  return {
    async call(operation, input, limits) {
      const Command: CommandClass = dynamoDbCommands[operation];
      return client.send(new Command(input as never) as never, toSdkLimits(limits));
    },
    destroy: () => client.destroy(),
  };
}

/** The endpoint is the service's or AWS_ENDPOINT_URL, never the host of a queue's URL. */
export function openSdkSqs(config: SQSClientConfig): Sqs & Closable {
  const client = new SQSClient({ ...settings, useQueueUrlAsEndpoint: false, ...config });
  return {
    async call(operation, input, limits) {
      const Command: CommandClass = sqsCommands[operation];
      return client.send(new Command(input as never) as never, toSdkLimits(limits));
    },
    destroy: () => client.destroy(),
  };
}

export function openSdkSsm(config: SSMClientConfig): Ssm & Closable {
  const client = new SSMClient({ ...settings, ...config });
  return {
    async call(operation, input, limits) {
      const Command: CommandClass = ssmCommands[operation];
      const output: object = await client.send(
        new Command(input as never) as never,
        toSdkLimits(limits),
      );
      return output;
    },
    destroy: () => client.destroy(),
  };
}

function toSdkLimits({ signal, waitMs = 0 }: CallLimits = {}): {
  abortSignal: AbortSignal;
  requestTimeout: number;
} {
  const limit = AbortSignal.timeout(timeoutMs + waitMs);
  return {
    abortSignal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
    requestTimeout: attemptTimeoutMs + waitMs,
  };
}
