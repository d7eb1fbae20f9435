/** What goes out in A2A 0.3 and comes back is what it was in 1.0, and it has the shapes that 0.3.0 published. */
import { describe, expect, it } from "@jest/globals";
import { Ajv } from "ajv";
import fc from "fast-check";
import type { OperationParams } from "../../../../contracts/a2a/operations.ts";
import {
  paramsToV03,
  type V03OperationName,
  v03Operations,
  v03PushConfigSchema,
} from "../../../../contracts/a2a/v03/params.ts";
import { resultToV03 } from "../../../../contracts/a2a/v03/results.ts";
import { v03TaskSchema } from "../../../../contracts/a2a/v03/task.ts";
import published from "../../../fixtures/a2a/v0.3.0-schema.json" with { type: "json" };
import { params, pushConfig, sendResult, streamEvent, task } from "../arbitraries.ts";
import { wire } from "../wire.ts";
import { v03EventSchema } from "./event-schema.ts";

const ajv = new Ajv({ strict: false }).addSchema(published, "a2a");
const numRuns = 40;

describe("the params of each operation", () => {
  const shapes: Record<Exclude<V03OperationName, "GetExtendedAgentCard">, string> = {
    SendMessage: "MessageSendParams",
    SendStreamingMessage: "MessageSendParams",
    GetTask: "TaskQueryParams",
    CancelTask: "TaskIdParams",
    SubscribeToTask: "TaskIdParams",
    CreateTaskPushNotificationConfig: "TaskPushNotificationConfig",
    GetTaskPushNotificationConfig: "GetTaskPushNotificationConfigParams",
    ListTaskPushNotificationConfigs: "TaskIdParams",
    DeleteTaskPushNotificationConfig: "DeleteTaskPushNotificationConfigParams",
  };

  it.each(Object.entries(shapes) as [keyof typeof shapes, string][])(
    "come back from 0.3 as they went, and are %s's %s",
    <O extends keyof typeof shapes>(operation: O, shape: string) => {
      fc.assert(
        fc.property(params[operation] as fc.Arbitrary<OperationParams<O>>, (sent) => {
          const written = wire(paramsToV03({ operation, params: sent }));
          expect(problems({ shape, value: written })).toEqual([]);
          expect(v03Operations[operation].parse(written)).toEqual(sent);
        }),
        { numRuns },
      );
    },
  );

  it("are none for the extended card", () => {
    expect(paramsToV03({ operation: "GetExtendedAgentCard", params: {} })).toBeUndefined();
    expect(v03Operations.GetExtendedAgentCard.parse(undefined)).toEqual({});
  });
});

describe("results", () => {
  it("of a stream come back as the events that they were", () => {
    fc.assert(
      fc.property(streamEvent, (event) => {
        const result = wire(resultToV03({ operation: "SendStreamingMessage", result: event }));
        const response = { jsonrpc: "2.0", id: 1, result };
        expect(problems({ shape: "SendStreamingMessageSuccessResponse", value: response })).toEqual([]);
        expect(v03EventSchema.parse(result)).toEqual(event);
      }),
      { numRuns },
    );
  });

  it("of a message come back as the task or the message that they were", () => {
    fc.assert(
      fc.property(sendResult, (result) => {
        const written = wire(resultToV03({ operation: "SendMessage", result }));
        expect(v03EventSchema.parse(written)).toEqual(result);
      }),
      { numRuns },
    );
  });

  it("that are a task stand bare", () => {
    fc.assert(
      fc.property(task, (result) => {
        expect(v03TaskSchema.parse(wire(resultToV03({ operation: "GetTask", result })))).toEqual(result);
      }),
      { numRuns },
    );
  });

  it("of push configurations come back, the list of them as a bare array", () => {
    fc.assert(
      fc.property(pushConfig, (result) => {
        const written = wire(resultToV03({ operation: "GetTaskPushNotificationConfig", result }));
        expect(v03PushConfigSchema.parse(written)).toEqual(result);
        const list = resultToV03({ operation: "ListTaskPushNotificationConfigs", result: { configs: [result] } });
        expect(wire(list)).toEqual([written]);
      }),
      { numRuns },
    );
  });

  it("of a deletion are null", () => {
    expect(resultToV03({ operation: "DeleteTaskPushNotificationConfig", result: {} })).toBeNull();
  });
});

/** What 0.3.0's own schema has against a value. */
function problems({ shape, value }: { shape: string; value: unknown }) {
  return ajv.validate(`a2a#/definitions/${shape}`, value) ? [] : ajv.errors;
}
