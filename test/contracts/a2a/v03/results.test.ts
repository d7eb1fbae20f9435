/** The answers of a peer of A2A 0.3, those of our host to its clients, and that a value survives the trip. */
import { describe, expect, it } from "@jest/globals";
import type { OperationParams } from "@sekisho/contracts/a2a/operations.ts";
import { readAnswerSchema } from "@sekisho/contracts/a2a/read-task.ts";
import { a2aStateSchema, type StreamEvent } from "@sekisho/contracts/a2a/task.ts";
import {
  paramsToV03,
  type V03OperationName,
  v03Operations,
} from "@sekisho/contracts/a2a/v03/params.ts";
import { resultToV03 } from "@sekisho/contracts/a2a/v03/results.ts";
import { eventToV03, v03TaskSchema } from "@sekisho/contracts/a2a/v03/task.ts";
import { Ajv } from "ajv";
import fc from "fast-check";
import published from "../../../fixtures/a2a/v0.3.0-schema.json" with { type: "json" };

import { issuesOf, params, spoil, streamEvent, wire } from "../arbitraries.ts";
import { v03EventSchema } from "./event-schema.ts";

/** The example of a question in the specification of 0.3.0, section 9.4. */
const ids = {
  taskId: "3f36680c-7f37-4a5f-945e-d78981fafd36",
  contextId: "c295ea44-7543-4f78-b524-7a38915ad6e4",
};

const question = {
  id: ids.taskId,
  contextId: ids.contextId,
  status: {
    state: "input-required",
    message: {
      role: "agent",
      parts: [{ kind: "text", text: "Where would you like to fly to?" }],
      messageId: "c2e1b2dd-f200-4b04-bc22-1b0c65a1aad2",
      ...ids,
    },
    timestamp: "2024-03-15T10:10:00Z",
  },
  kind: "task",
};

describe("an answer of 0.3", () => {
  it("reads an answer of 0.3 as the specification shows it", () => {
    expect(wire(v03EventSchema.parse(question))).toEqual({
      task: {
        id: ids.taskId,
        contextId: ids.contextId,
        status: {
          state: "TASK_STATE_INPUT_REQUIRED",
          message: {
            role: "ROLE_AGENT",
            parts: [{ text: "Where would you like to fly to?" }],
            messageId: "c2e1b2dd-f200-4b04-bc22-1b0c65a1aad2",
            ...ids,
          },
          timestamp: "2024-03-15T10:10:00Z",
        },
      },
    });
  });

  it("accepts null lists and members in an answer of 0.3", () => {
    const { kind: _, ...task } = {
      ...question,
      status: { state: "working", message: null, timestamp: null },
    };
    const result = v03TaskSchema.parse({
      ...task,
      artifacts: null,
      history: [],
      metadata: null,
      contextId: null,
    });
    expect(wire(result)).toEqual({
      id: ids.taskId,
      contextId: "",
      status: { state: "TASK_STATE_WORKING" },
      history: [],
    });
  });

  it.each<[string, unknown, string[]]>([
    ["an empty object", null, [""]],
    [
      "an update without a task",
      { kind: "status-update", contextId: "c1", status: { state: "working" } },
      ["taskId"],
    ],
    ["a task without members", { task: {} }, ["task.id", "task.status"]],
    ["an unknown state", { ...question, status: { state: "unknown" } }, ["status.state"]],
    [
      "the name of a method as a state",
      { ...question, status: { state: "toString" } },
      ["status.state"],
    ],
    ["a message without content", { kind: "message", parts: [] }, ["parts"]],
  ])("refuses an answer of 0.3: %s", (_name, answer, paths) => {
    expect(issuesOf(readAnswerSchema.safeParse(answer)).map(({ path }) => path)).toEqual(paths);
  });

  it("reads any answer of 0.3 as a valid answer of 1.0, or refuses it", () => {
    fc.assert(
      fc.property(spoil(streamEvent.map(eventToV03)), (answer) => {
        const event = v03EventSchema.safeParse(answer).data;
        const { data } = readAnswerSchema.safeParse(answer);
        if (data) expect(readAnswerSchema.parse(wire(data))).toEqual(data);
        // A client can read whatever the schema of events takes.
        if (event && ("task" in event || "message" in event))
          expect(data).toEqual(readAnswerSchema.parse(wire(event)));
      }),
      { numRuns: 100 },
    );
  });
});

describe("an event for a client of 0.3", () => {
  it.each(a2aStateSchema.options)(
    "marks an event in the state %s as final unless the task continues by itself",
    (state) => {
      const goesOn = state === "TASK_STATE_SUBMITTED" || state === "TASK_STATE_WORKING";
      expect(eventToV03({ statusUpdate: { ...ids, status: { state } } })).toMatchObject({
        final: !goesOn,
      });
    },
  );

  it("drops members of a text part that 0.3 does not know", () => {
    const message: StreamEvent = {
      message: {
        messageId: "m",
        role: "ROLE_AGENT",
        parts: [{ text: "a", mediaType: "text/markdown", filename: "a" }],
      },
    };
    expect(wire(eventToV03(message))).toEqual({
      kind: "message",
      messageId: "m",
      role: "agent",
      parts: [{ kind: "text", text: "a" }],
    });
  });

  it("wraps data that is not an object as a value", () => {
    const artifact = {
      artifactId: "a",
      parts: [{ data: null, metadata: { a: 1 } }, { data: {} }, { data: [1] }],
    };
    expect(wire(eventToV03({ artifactUpdate: { ...ids, artifact, lastChunk: true } }))).toEqual({
      kind: "artifact-update",
      ...ids,
      artifact: {
        artifactId: "a",
        parts: [
          { kind: "data", data: { value: null }, metadata: { a: 1, data_part_compat: true } },
          { kind: "data", data: {} },
          { kind: "data", data: { value: [1] }, metadata: { data_part_compat: true } },
        ],
      },
      lastChunk: true,
    });
  });
});

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
    "round-trips the params of %s through 0.3 in its shape %s",
    <O extends keyof typeof shapes>(operation: O, shape: string) => {
      fc.assert(
        fc.property(params[operation] as fc.Arbitrary<OperationParams<O>>, (params) => {
          const output = wire(paramsToV03({ operation, params }));
          expect(problems({ shape, value: output })).toEqual([]);
          expect(v03Operations[operation].parse(output)).toEqual(params);
        }),
        { numRuns },
      );
    },
  );

  it("sends no params for the extended card", () => {
    expect(paramsToV03({ operation: "GetExtendedAgentCard", params: {} })).toBeUndefined();
    expect(v03Operations.GetExtendedAgentCard.parse(undefined)).toEqual({});
  });
});

describe("results", () => {
  it("round-trips the results of a stream through 0.3", () => {
    fc.assert(
      fc.property(streamEvent, (event) => {
        const result = wire(resultToV03({ operation: "SendStreamingMessage", result: event }));
        const response = { jsonrpc: "2.0", id: 1, result };
        expect(problems({ shape: "SendStreamingMessageSuccessResponse", value: response })).toEqual(
          [],
        );
        expect(v03EventSchema.parse(result)).toEqual(event);
      }),
      { numRuns },
    );
  });

  it("returns null as the result of a deletion", () => {
    expect(resultToV03({ operation: "DeleteTaskPushNotificationConfig", result: {} })).toBeNull();
  });
});

/** The issues that 0.3.0's own schema finds in a value. */
function problems({ shape, value }: { shape: string; value: unknown }) {
  return ajv.validate(`a2a#/definitions/${shape}`, value) ? [] : ajv.errors;
}
