/** Our shapes of A2A against the official SDK: its codecs of 1.0, its client and its server of 0.3. */

import * as sdk from "@a2a-js/sdk";
import { StreamResponse, Task } from "@a2a-js/sdk";
import { legacyPushNotificationToV1StreamResponse } from "@a2a-js/sdk/compat/v0_3";
import { LegacyJsonRpcTransport } from "@a2a-js/sdk/compat/v0_3/client";
import { LegacyJsonRpcTransportHandler } from "@a2a-js/sdk/compat/v0_3/server";
import { type A2ARequestHandler, ServerCallContext } from "@a2a-js/sdk/server";
import { describe, expect, it } from "@jest/globals";
import {
  type OperationParams,
  operations,
  toA2aMethod,
  toA2aOperation,
} from "@sekisho/contracts/a2a/operations.ts";
import { a2aTaskSchema, type SendResult } from "@sekisho/contracts/a2a/task.ts";
import {
  paramsToV03,
  v03Operations,
  v03PushConfigSchema,
} from "@sekisho/contracts/a2a/v03/params.ts";
import { resultToV03 } from "@sekisho/contracts/a2a/v03/results.ts";
import { eventToV03, v03TaskSchema } from "@sekisho/contracts/a2a/v03/task.ts";
import fc from "fast-check";
import { params, pushConfig, sendResult, streamEvent, task, wire } from "./arbitraries.ts";
import { v03EventSchema } from "./v03/event-schema.ts";

type Codec = { fromJSON: (value: unknown) => unknown; toJSON: (value: never) => unknown };

const paramsCodecs = {
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
function throughSdk({ codec, value }: { codec: Codec; value: unknown }): unknown {
  return codec.toJSON(codec.fromJSON(value) as never);
}

/** The SDK reads `data: null` as no content, so those values are left out. */
function whatSdkKeeps<T>(values: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return values.filter((value) => !JSON.stringify(value).includes('"data":null'));
}

/** Drops flags that are false, which the SDK reads as unset. */
function withoutDefaults(value: unknown): unknown {
  const flags = ["append", "lastChunk", "returnImmediately"];
  return JSON.parse(
    JSON.stringify(value, (name, member) =>
      flags.includes(name) && member === false ? undefined : member,
    ),
  );
}

function sentResult(result: sdk.Message | sdk.Task): unknown {
  return "messageId" in result
    ? { message: sdk.Message.toJSON(result) }
    : { task: sdk.Task.toJSON(result) };
}

function toSdkResult(result: SendResult): sdk.Message | sdk.Task {
  return "message" in result
    ? sdk.Message.fromJSON(result.message)
    : sdk.Task.fromJSON(result.task);
}

const numRuns = 25;

describe("the official SDK", () => {
  it("the official SDK reads our tasks, and we read its tasks", () => {
    fc.assert(
      fc.property(whatSdkKeeps(task), (value) => {
        const output = throughSdk({ codec: Task, value });
        expect(output).toEqual(value);
        expect(wire(a2aTaskSchema.parse(wire(output)))).toEqual(value);
      }),
      { numRuns },
    );
  });

  it("the official SDK preserves our stream events", () => {
    fc.assert(
      fc.property(whatSdkKeeps(streamEvent), (value) => {
        expect(throughSdk({ codec: StreamResponse, value })).toEqual(withoutDefaults(value));
      }),
      { numRuns },
    );
  });

  it.each(Object.keys(paramsCodecs) as (keyof typeof paramsCodecs)[])(
    "the official SDK reads our params of %s, and we read its params",
    (operation) => {
      fc.assert(
        fc.property(
          whatSdkKeeps(params[operation] as fc.Arbitrary<OperationParams<typeof operation>>),
          (value) => {
            const output = wire(throughSdk({ codec: paramsCodecs[operation], value }));
            expect(withoutDefaults(operations[operation].parse(output))).toEqual(
              withoutDefaults(value),
            );
          },
        ),
        { numRuns },
      );
    },
  );
});

type Operation = keyof typeof paramsCodecs;
const operationNames = Object.keys(paramsCodecs) as Operation[];

const results: Record<Operation, fc.Arbitrary<unknown>> = {
  SendMessage: sendResult,
  SendStreamingMessage: streamEvent,
  GetTask: task,
  CancelTask: task,
  SubscribeToTask: streamEvent,
  CreateTaskPushNotificationConfig: pushConfig,
  GetTaskPushNotificationConfig: pushConfig,
  ListTaskPushNotificationConfigs: fc.record({
    configs: fc.array(pushConfig, { minLength: 1, maxLength: 2 }),
  }),
  DeleteTaskPushNotificationConfig: fc.constant(undefined),
};

describe("the official client of 0.3", () => {
  const calls: Record<
    Operation,
    (client: LegacyJsonRpcTransport, params: never) => Promise<unknown>
  > = {
    SendMessage: async (client, request) => sentResult(await client.sendMessage(request)),
    SendStreamingMessage: (client, request) => firstOf(client.sendMessageStream(request)),
    GetTask: async (client, request) => sdk.Task.toJSON(await client.getTask(request)),
    CancelTask: async (client, request) => sdk.Task.toJSON(await client.cancelTask(request)),
    SubscribeToTask: (client, request) => firstOf(client.resubscribeTask(request)),
    CreateTaskPushNotificationConfig: async (client, request) =>
      sdk.TaskPushNotificationConfig.toJSON(await client.createTaskPushNotificationConfig(request)),
    GetTaskPushNotificationConfig: async (client, request) =>
      sdk.TaskPushNotificationConfig.toJSON(await client.getTaskPushNotificationConfig(request)),
    ListTaskPushNotificationConfigs: async (client, request) =>
      sdk.ListTaskPushNotificationConfigsResponse.toJSON(
        await client.listTaskPushNotificationConfig(request),
      ),
    DeleteTaskPushNotificationConfig: (client, request) =>
      client.deleteTaskPushNotificationConfig(request),
  };

  it.each(operationNames)(
    "the official client of 0.3 understands us, and we understand it, in %s",
    async (operation) => {
      await fc.assert(
        fc.asyncProperty(exchangeOf(operation), async ({ sent: params, result }) => {
          let requests: unknown;
          const client = new LegacyJsonRpcTransport({
            endpoint: "http://agent.test",
            fetchImpl: async (_url, init) => {
              const request = JSON.parse(String(init?.body)) as {
                id: number;
                method: string;
                params: unknown;
              };
              expect(toA2aOperation(request.method)).toEqual({ operation, version: "0.3" });
              requests = v03Operations[operation].parse(request.params);
              return answer({
                id: request.id,
                result: resultToV03({ operation, result: result as never }),
                init,
              });
            },
          });
          const sdkResult = await calls[operation](
            client,
            paramsCodecs[operation].fromJSON(params) as never,
          );
          expect(withoutDefaults(requests)).toEqual(withoutDefaults(params));
          expect(sdkResult === undefined ? undefined : withoutDefaults(sdkResult)).toEqual(
            result && withoutDefaults(result),
          );
        }),
        { numRuns },
      );
    },
  );
});

describe("the official server of 0.3", () => {
  const readers: Record<Operation, { parse: (value: unknown) => unknown }> = {
    SendMessage: v03EventSchema,
    SendStreamingMessage: v03EventSchema,
    GetTask: v03TaskSchema,
    CancelTask: v03TaskSchema,
    SubscribeToTask: v03EventSchema,
    CreateTaskPushNotificationConfig: v03PushConfigSchema,
    GetTaskPushNotificationConfig: v03PushConfigSchema,
    ListTaskPushNotificationConfigs: {
      parse: (value) => ({ configs: v03PushConfigSchema.array().parse(value) }),
    },
    DeleteTaskPushNotificationConfig: { parse: (value) => value ?? undefined },
  };

  it.each(operationNames)(
    "the official server of 0.3 understands us, and we understand it, in %s",
    async (operation) => {
      await fc.assert(
        fc.asyncProperty(exchangeOf(operation), async ({ sent: params, result }) => {
          const { handler, received: requests } = server(result);
          const body = {
            jsonrpc: "2.0",
            id: 1,
            method: toA2aMethod({ operation, version: "0.3" }),
            params: wire(paramsToV03({ operation, params: params as never })),
          };
          const sdkAnswer = await handler.handle(body, new ServerCallContext());
          const response =
            Symbol.asyncIterator in sdkAnswer ? (await sdkAnswer.next()).value : sdkAnswer;
          if (response === undefined || !("result" in response)) throw new Error("no result");
          const request = wire(paramsCodecs[operation].toJSON(requests() as never));
          expect(withoutDefaults(operations[operation].parse(request))).toEqual(
            withoutDefaults(params),
          );
          const readValue = readers[operation].parse(wire(response.result));
          expect(readValue && withoutDefaults(readValue)).toEqual(
            result && withoutDefaults(result),
          );
        }),
        { numRuns },
      );
    },
  );
});

it("the official receiver of 0.3's push notifications reads every event of ours", () => {
  fc.assert(
    fc.property(whatSdkKeeps(streamEvent), (event) => {
      const result = legacyPushNotificationToV1StreamResponse(wire(eventToV03(event)));
      expect(sdk.StreamResponse.toJSON(result)).toEqual(withoutDefaults(event));
    }),
    { numRuns },
  );
});

function exchangeOf(operation: Operation) {
  return fc.record({
    sent: whatSdkKeeps(params[operation] as fc.Arbitrary<object>),
    result: results[operation].filter(
      (value) => !JSON.stringify(value ?? "").includes('"data":null'),
    ),
  });
}

/** One response, as a body or as the only event of a stream. */
function answer({
  id,
  result,
  init,
}: {
  id: number;
  result: unknown;
  init: RequestInit | undefined;
}): Response {
  const body = JSON.stringify({ jsonrpc: "2.0", id, result });
  const accept = new Headers(init?.headers).get("accept") ?? "";
  return accept === "text/event-stream"
    ? new Response(`data: ${body}\n\n`, { headers: { "content-type": accept } })
    : new Response(body, { headers: { "content-type": "application/json" } });
}

async function firstOf(events: AsyncGenerator<sdk.StreamResponse>): Promise<unknown> {
  const { value } = await events.next();
  return sdk.StreamResponse.toJSON(value);
}

/** A server that answers every request with `result` and records what it read. */
function server(result: unknown) {
  let requests: unknown;
  const take = (request: unknown) => {
    requests = request;
  };
  const sdkTask = async (request: unknown) => {
    take(request);
    return sdk.Task.fromJSON(result);
  };
  const config = async (request: unknown) => {
    take(request);
    return sdk.TaskPushNotificationConfig.fromJSON(result);
  };
  async function* events(request: unknown) {
    take(request);
    yield sdk.StreamResponse.fromJSON(result);
  }
  const handler = {
    getAgentCard: async () => sdk.AgentCard.fromJSON({ capabilities: { streaming: true } }),
    sendMessage: async (request) => {
      take(request);
      return toSdkResult(result as never);
    },
    sendMessageStream: events,
    getTask: sdkTask,
    cancelTask: sdkTask,
    resubscribe: events,
    createTaskPushNotificationConfig: config,
    getTaskPushNotificationConfig: config,
    listTaskPushNotificationConfigs: async (request) => {
      take(request);
      return sdk.ListTaskPushNotificationConfigsResponse.fromJSON(result);
    },
    deleteTaskPushNotificationConfig: async (request) => take(request),
  } satisfies Partial<A2ARequestHandler>;
  return { handler: new LegacyJsonRpcTransportHandler(handler as never), received: () => requests };
}
