/** The engine's view of DynamoDB and SQS, and clients of our own for it. The command line puts the SDK's clients behind the same types. */
import type {
  AttributeValue,
  DeleteItemInput,
  GetItemInput,
  GetItemOutput,
  PutItemInput,
  QueryInput,
  QueryOutput,
  ScanInput,
  ScanOutput,
  TransactWriteItemsInput,
  UpdateItemInput,
} from "@aws-sdk/client-dynamodb";
import type {
  ChangeMessageVisibilityRequest,
  DeleteMessageRequest,
  GetQueueAttributesRequest,
  GetQueueAttributesResult,
  ReceiveMessageRequest,
  ReceiveMessageResult,
  SendMessageRequest,
} from "@aws-sdk/client-sqs";
import type { CallLimits } from "../../aws/aws-call.ts";
import type { AwsDependencies } from "../../aws/credentials.ts";
import { type AwsClient, createJsonClient } from "../../aws/json-call.ts";

/** The attributes of an item. We store texts and numbers only, which are the same in JSON and in the SDK. */
export type RecordAttributes = Record<string, AttributeValue>;

export type DynamoDb = AwsClient<{
  GetItem: { input: GetItemInput; output: GetItemOutput };
  PutItem: { input: PutItemInput; output: object };
  UpdateItem: { input: UpdateItemInput; output: object };
  TransactWriteItems: { input: TransactWriteItemsInput; output: object };
  DeleteItem: { input: DeleteItemInput; output: object };
  Query: { input: QueryInput; output: QueryOutput };
  Scan: { input: ScanInput; output: ScanOutput };
}>;

export type Sqs = AwsClient<{
  SendMessage: { input: SendMessageRequest; output: object };
  ReceiveMessage: { input: ReceiveMessageRequest; output: ReceiveMessageResult };
  DeleteMessage: { input: DeleteMessageRequest; output: object };
  ChangeMessageVisibility: { input: ChangeMessageVisibilityRequest; output: object };
  GetQueueAttributes: { input: GetQueueAttributesRequest; output: GetQueueAttributesResult };
}>;

/** The limit for all attempts of one call, for one attempt, and for its connection. */
export const engineLimits = {
  timeoutMs: 10_000,
  attemptTimeoutMs: 3000,
  connectTimeoutMs: 1000,
  maxAttempts: 3,
};

/** An answer holds up to 1 MiB of items or messages, in which JSON may escape each character. */
const maxResponseBytes = 8 * 1024 * 1024;

/** Repeats failed calls. The store recognizes its own repeated writes. The SDK's first pause is shorter for DynamoDB, too. */
export function openDynamoDb(aws: AwsDependencies): DynamoDb {
  return createJsonClient({
    ...aws,
    ...engineLimits,
    service: "dynamodb",
    retryBaseMs: 25,
    maxResponseBytes,
  });
}

/** Repeats failed calls, so a message may be sent twice. The endpoint is the region's, never the host of a queue's URL. */
export function openSqs(aws: AwsDependencies): Sqs {
  return createJsonClient({ ...aws, ...engineLimits, service: "sqs", maxResponseBytes });
}

/** The pages of a listing, each read when it is asked for. */
export async function* readPages(
  client: DynamoDb,
  listing: { operation: "Query"; input: QueryInput } | { operation: "Scan"; input: ScanInput },
  limits: CallLimits,
): AsyncGenerator<QueryOutput | ScanOutput, void, undefined> {
  let start: RecordAttributes | undefined;
  do {
    const input = { ...listing.input, ...(start && { ExclusiveStartKey: start }) };
    const page = await client.call(listing.operation, input, limits);
    yield page;
    start = page.LastEvaluatedKey;
  } while (start !== undefined);
}

/** The refusal of a conditional write. `Item` is there if the write asked for it. Undefined for any other error. */
export function readConditionFailure(
  error: unknown,
): { Item?: RecordAttributes | undefined } | undefined {
  const failure: { name?: unknown; Item?: RecordAttributes | undefined } = Object(error);
  return failure.name === "ConditionalCheckFailedException" ? failure : undefined;
}

/** True if DynamoDB did none of a transaction's writes. It also says so where it throttles one of them, which the client does not repeat. */
export function isTransactionCanceled(error: unknown): boolean {
  return Object(error).name === "TransactionCanceledException";
}

/** True if a write was refused because a transaction on its item is under way. */
export function isInTransaction(error: unknown): boolean {
  return Object(error).name === "TransactionConflictException";
}
