/** What a peer of A2A 0.3 answers, and what our host answers a client of it. */
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { readAnswerSchema } from "../../../../contracts/a2a/read-task.ts";
import { a2aStateSchema, type StreamEvent } from "../../../../contracts/a2a/task.ts";
import { eventToV03, v03ReadAnswerSchema, v03TaskSchema } from "../../../../contracts/a2a/v03/task.ts";
import { streamEvent } from "../arbitraries.ts";
import { spoilt } from "../spoilt.ts";
import { issuesOf, wire } from "../wire.ts";
import { v03EventSchema } from "./event-schema.ts";

/** The example of a question in the specification of 0.3.0, section 9.4. */
const ids = { taskId: "3f36680c-7f37-4a5f-945e-d78981fafd36", contextId: "c295ea44-7543-4f78-b524-7a38915ad6e4" };
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
  it("is read as the specification shows it", () => {
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

  it("may have lists and members that are set to nothing", () => {
    const { kind: _, ...task } = { ...question, status: { state: "working", message: null, timestamp: null } };
    const read = v03TaskSchema.parse({ ...task, artifacts: null, history: [], metadata: null, contextId: null });
    expect(wire(read)).toEqual({ id: ids.taskId, contextId: "", status: { state: "TASK_STATE_WORKING" }, history: [] });
  });

  it.each<[string, unknown, string[]]>([
    ["nothing", null, [""]],
    ["what does not say what it is", { ...question, kind: undefined }, ["kind"]],
    ["an event, where a message was sent", { kind: "status-update", ...ids, status: { state: "working" } }, ["kind"]],
    ["an answer of 1.0", { task: {} }, ["kind"]],
    ["a state that nobody knows", { ...question, status: { state: "unknown" } }, ["status.state"]],
    ["a state of 1.0", { ...question, status: { state: "TASK_STATE_WORKING" } }, ["status.state"]],
    ["the name of a method as a state", { ...question, status: { state: "toString" } }, ["status.state"]],
    ["a message that says nothing", { kind: "message", parts: [] }, ["parts"]],
  ])("is not %s", (_name, answer, paths) => {
    expect(issuesOf(v03ReadAnswerSchema.safeParse(answer)).map(({ path }) => path)).toEqual(paths);
  });

  it("is read or refused whatever it is, and what is read 1.0 reads too", () => {
    fc.assert(
      fc.property(spoilt(streamEvent.map(eventToV03)), (answer) => {
        const event = v03EventSchema.safeParse(answer).data;
        const { data } = v03ReadAnswerSchema.safeParse(answer);
        if (data) expect(readAnswerSchema.parse(wire(data))).toEqual(data);
        // What the events' own schema takes, a client can read.
        if (event && ("task" in event || "message" in event)) expect(data).toEqual(readAnswerSchema.parse(wire(event)));
      }),
      { numRuns: 100 },
    );
  });
});

describe("an event for a client of 0.3", () => {
  it.each(a2aStateSchema.options)("is final where the task does no more by itself: %s", (state) => {
    const goesOn = state === "TASK_STATE_SUBMITTED" || state === "TASK_STATE_WORKING";
    expect(eventToV03({ statusUpdate: { ...ids, status: { state } } })).toMatchObject({ final: !goesOn });
  });

  it("has nothing but what 0.3 can say of a text", () => {
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

  it("carries as a value what is no object", () => {
    const artifact = { artifactId: "a", parts: [{ data: null, metadata: { a: 1 } }, { data: {} }, { data: [1] }] };
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
