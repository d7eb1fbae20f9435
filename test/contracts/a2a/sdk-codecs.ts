/** The official SDK's codecs of A2A 1.0, by operation, and the known differences to plain JSON. */
import * as sdk from "@a2a-js/sdk";
import type fc from "fast-check";
import type { SendResult } from "../../../contracts/a2a/task.ts";

type Codec = { fromJSON: (value: unknown) => unknown; toJSON: (value: never) => unknown };

export const paramsCodecs = {
  SendMessage: sdk.SendMessageRequest,
  SendStreamingMessage: sdk.SendMessageRequest,
  GetTask: sdk.GetTaskRequest,
  CancelTask: sdk.CancelTaskRequest,
  SubscribeToTask: sdk.SubscribeToTaskRequest,
  CreateTaskPushNotificationConfig: sdk.TaskPushNotificationConfig,
  GetTaskPushNotificationConfig: sdk.GetTaskPushNotificationConfigRequest,
  ListTaskPushNotificationConfigs: sdk.ListTaskPushNotificationConfigsRequest,
  DeleteTaskPushNotificationConfig: sdk.DeleteTaskPushNotificationConfigRequest,
} as const;

/** Reads and writes a value with the SDK. */
export function throughSdk({ codec, value }: { codec: Codec; value: unknown }): unknown {
  return codec.toJSON(codec.fromJSON(value) as never);
}

/** The SDK reads `data: null` as no content, so those values are left out. */
export function whatSdkKeeps<T>(values: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return values.filter((value) => !JSON.stringify(value).includes('"data":null'));
}

/** Drops flags that are false, which the SDK reads as unset. */
export function withoutDefaults(value: unknown): unknown {
  const flags = ["append", "lastChunk", "returnImmediately"];
  return JSON.parse(
    JSON.stringify(value, (name, member) => (flags.includes(name) && member === false ? undefined : member)),
  );
}

export function sentResult(result: sdk.Message | sdk.Task): unknown {
  return "messageId" in result ? { message: sdk.Message.toJSON(result) } : { task: sdk.Task.toJSON(result) };
}

export function toSdkResult(result: SendResult): sdk.Message | sdk.Task {
  return "message" in result ? sdk.Message.fromJSON(result.message) : sdk.Task.fromJSON(result.task);
}
