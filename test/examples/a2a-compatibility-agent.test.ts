/** The scenarios of the A2A compatibility kits, with the example on our host, in plain JSON. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import type { Message } from "@sekisho/contracts/a2a/part.ts";
import type { A2aTask, SendResult, StreamEvent } from "@sekisho/contracts/a2a/task.ts";
import { agent } from "../../examples/a2a-compatibility-agent.ts";
import { type A2aHost, startA2aHost, userMessage } from "../execution/a2a/a2a-host.ts";
import { quickAgent } from "../interop/quick-agent.ts";

const file = { mediaType: "text/plain", filename: "output.txt" };
const hello = { text: "Hello from TCK" };

/** The beginning of the message's id, the final state, and the parts of each artifact. */
const scenarios: [string, string, object[][]][] = [
  ["tck-complete-task", "COMPLETED", [[hello]]],
  ["tck-delayed-complete", "COMPLETED", [[{ text: "Done after delay" }]]],
  ["tck-artifact-text", "COMPLETED", [[{ text: "Generated text content" }]]],
  ["tck-artifact-file", "COMPLETED", [[{ raw: "dGNr", ...file }]]],
  ["tck-artifact-file-url", "COMPLETED", [[{ url: "https://example.com/output.txt", ...file }]]],
  ["tck-artifact-data", "COMPLETED", [[{ data: { key: "value", count: 42 } }]]],
  ["tck-input-required", "INPUT_REQUIRED", []],
  ["tck-auth-required", "AUTH_REQUIRED", []],
  ["tck-multi-turn", "INPUT_REQUIRED", []],
  ["tck-reject-task", "REJECTED", []],
  ["tck-task-failure", "FAILED", []],
  ["tck-long-running", "COMPLETED", [[{ text: "Long running result" }]]],
  ["tck-stream-001", "COMPLETED", [[{ text: "Stream hello from TCK" }]]],
  ["tck-stream-002", "COMPLETED", [[{ text: "Done" }]]],
  ["tck-stream-003", "COMPLETED", [[{ text: "Stream task lifecycle" }]]],
  ["tck-stream-basic", "COMPLETED", [[{ text: "Streamed content" }]]],
  [
    "tck-stream-chunked",
    "COMPLETED",
    [[{ text: "chunk one " }], [{ text: "chunk two " }], [{ text: "chunk three" }]],
  ],
  ["tck-stream-ordering-001", "COMPLETED", [[{ text: "Ordered output" }]]],
  ["tck-stream-artifact-text", "COMPLETED", [[{ text: "Streamed text content" }]]],
  ["tck-stream-artifact-file", "COMPLETED", [[{ raw: "dGNr", ...file }]]],
  ["tck-stream-artifact-chunked", "COMPLETED", [[{ text: "chunk-1 " }], [{ text: "chunk-2" }]]],
  ["test-resubscribe-message-id", "COMPLETED", [[{ text: "Still here" }]]],
  ["anything-else", "COMPLETED", [[{ text: "hi" }]]],
];

let host: A2aHost;
beforeAll(async () => {
  host = await startA2aHost({ agent: quickAgent });
});
afterAll(() => host.close());

describe("the compatibility agent with scenarios by message id", () => {
  it.each(scenarios)("ends a send of the scenario %s with %s", async (name, state, artifacts) => {
    const task = await send({ messageId: idOf(name) });
    expect(task.status.state).toBe(`TASK_STATE_${state}`);
    expect(partsOf(task)).toEqual(artifacts);
  });

  it("sekisho-seen: returns the message id, the context id and every part that was sent", async () => {
    const parts = [
      { text: "hi" },
      { raw: "dGNr", ...file },
      { url: "https://example.com/a" },
      { data: { a: [1] } },
    ];
    const messageId = idOf("sekisho-seen");
    const task = await send({ messageId, contextId: "a-context", parts });
    // The agent's context id is made of the caller and the conversation.
    const contextId = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(partsOf(task)).toEqual([[{ data: { messageId, contextId, parts } }]]);
  });

  it.each(scenarios)(
    "begins the stream of %s with the task, streams its artifacts, and ends with %s",
    async (name, state) => {
      const events = await stream(userMessage("hi", { messageId: idOf(name) }));
      const { task } = events[0] as { task: A2aTask };
      const last = events.at(-1) as { statusUpdate?: { status: A2aTask["status"] } };
      const end = last.statusUpdate?.status ?? task.status;
      expect(end.state).toBe(`TASK_STATE_${state}`);
      const updates = events.flatMap((event) =>
        "artifactUpdate" in event ? [event.artifactUpdate.artifact] : [],
      );
      const now = await host.result<A2aTask>("GetTask", { id: task.id });
      expect([...(task.artifacts ?? []), ...updates]).toEqual(now.artifacts ?? []);
    },
  );

  it("tck-message-response: answers by a message, sent or streamed", async () => {
    const message = () => userMessage("hi", { messageId: idOf("tck-message-response") });
    const answer = {
      message: { role: "ROLE_AGENT", parts: [{ text: "Direct message response" }] },
    };
    expect(await host.result<SendResult>("SendMessage", { message: message() })).toMatchObject(
      answer,
    );
    const events = await stream(message());
    expect(events).toMatchObject([answer]);
  });

  it("tck-cancel: works until the task is canceled", async () => {
    const { id, status } = await send(
      { messageId: idOf("tck-cancel") },
      { returnImmediately: true },
    );
    expect(status.state).toMatch(/SUBMITTED|WORKING/);
    const canceled = await host.result("CancelTask", { id });
    expect(canceled.status.state).toBe("TASK_STATE_CANCELED");
  });

  it.each(["tck-input-required", "tck-auth-required"])(
    "ends the task of %s after any reply",
    async (name) => {
      const { id: taskId } = await send({ messageId: idOf(name) });
      expect(await send({ taskId }, {}, "blue")).toMatchObject({
        id: taskId,
        status: { state: "TASK_STATE_COMPLETED" },
        artifacts: [{ artifactId: "answer", parts: [{ text: "blue" }] }],
      });
    },
  );

  it("follows the scenario that a reply names", async () => {
    const { id: taskId } = await send({ messageId: idOf("tck-input-required") });
    const again = await send({ taskId, messageId: idOf("tck-input-required") });
    expect(again.status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    const last = await send({ taskId, messageId: idOf("tck-complete-task") });
    expect(last).toMatchObject({
      status: { state: "TASK_STATE_COMPLETED" },
      artifacts: [{ parts: [hello] }],
    });
  });

  it("tck-multi-turn: asks until the user is done", async () => {
    const { id: taskId } = await send({ messageId: idOf("tck-multi-turn") });
    for (const text of ["more", "undone"]) {
      expect((await send({ taskId }, {}, text)).status.state).toBe("TASK_STATE_INPUT_REQUIRED");
    }
    expect((await send({ taskId }, {}, "done")).status.state).toBe("TASK_STATE_COMPLETED");
  });
});

describe("the compatibility agent with scenarios by text", () => {
  it("follows the scenario at the beginning of the text if the id names no scenario", async () => {
    const task = await send({}, {}, "tck-artifact-data please");
    expect(partsOf(task)).toEqual([[{ data: { key: "value", count: 42 } }]]);
  });
});

describe("the file itself", () => {
  it("exports an agent, as the configuration requires", () => {
    expect(typeof agent).toBe("function");
  });
});

function idOf(name: string): string {
  return `${name}-${randomUUID()}`;
}

async function send(
  over: Partial<Message>,
  configuration: object = {},
  text = "hi",
): Promise<A2aTask> {
  const params = { message: userMessage(text, over), configuration };
  return (await host.result<{ task: A2aTask }>("SendMessage", params)).task;
}

async function stream(message: object): Promise<StreamEvent[]> {
  const events: StreamEvent[] = [];
  for await (const event of host.stream("SendStreamingMessage", { message })) events.push(event);
  return events;
}

function partsOf({ artifacts = [] }: A2aTask) {
  return artifacts.map(({ parts }) => parts);
}
