/** The client of the official SDK against our host: tasks from the first message to their end. */
import { randomUUID } from "node:crypto";
import type { Client } from "@a2a-js/sdk/client";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type OurHost, startOurHost } from "./our-host.ts";
import { quickAgent } from "./quick-agent.ts";
import { asTask, eventsOf, saying, sdkClient, sendForTask, sent, settled } from "./sdk-client.ts";

describe.each(["1.0", "0.3"] as const)("the official SDK's client and our host, %s", (version) => {
  let host: OurHost;
  let client: Client;
  beforeAll(async () => {
    host = await startOurHost({ agent: quickAgent });
    client = await sdkClient({ host, version });
  });
  afterAll(() => host.close());

  it("finds the host by its card", async () => {
    expect(client.protocolVersion).toBe(version);
    expect((await client.getAgentCard()).name).toBe("Sekisho");
  });

  it("waits for a task that ends", async () => {
    const task = await sendForTask(client, saying("tck-complete-task"));
    expect([task.status.state, task.status.message]).toEqual(["TASK_STATE_COMPLETED", undefined]);
    expect(task.artifacts).toMatchObject([{ parts: [{ text: "Hello from TCK" }] }]);
    expect(task.history).toMatchObject([{ role: "ROLE_USER", parts: [{ text: "hello" }] }]);
  });

  it("gets a message where the agent answers without a task", async () => {
    const { message } = sent(await client.sendMessage(saying("tck-message-response")));
    expect(message).toMatchObject({
      role: "ROLE_AGENT",
      parts: [{ text: "Direct message response" }],
    });
  });

  it("is not kept waiting where it does not want to, and asks until the end", async () => {
    const request = saying("tck-long-running", { configuration: { returnImmediately: true } });
    const task = await sendForTask(client, request);
    expect(["TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"]).toContain(task.status.state);
    const { status, artifacts } = await settled(client, task);
    expect(status.state).toBe("TASK_STATE_COMPLETED");
    expect(artifacts).toMatchObject([{ parts: [{ text: "Long running result" }] }]);
  });

  it("sees a stream begin with the task and end with its state", async () => {
    const events = await eventsOf(client.sendMessageStream(saying("tck-stream-artifact-file")));
    expect(events[0]).toMatchObject({ task: { id: expect.any(String) } });
    expect(events).toContainEqual({
      artifactUpdate: expect.objectContaining({
        artifact: expect.objectContaining({
          parts: [expect.objectContaining({ raw: "dGNr", filename: "output.txt" })],
        }),
      }),
    });
    expect(events.at(-1)).toMatchObject({
      statusUpdate: { status: { state: "TASK_STATE_COMPLETED" } },
    });
  });

  it("streams a message alone where the agent answers without a task", async () => {
    const events = await eventsOf(client.sendMessageStream(saying("tck-message-response")));
    expect(events).toMatchObject([{ message: { parts: [{ text: "Direct message response" }] } }]);
  });

  it("comes back to a stream, beside others", async () => {
    // It works until it is canceled.
    const request = saying("tck-cancel", { configuration: { returnImmediately: true } });
    const { id } = await sendForTask(client, request);
    const streams = [1, 2].map(() => client.resubscribeTask({ tenant: "", id }));
    const first = await Promise.all(streams.map((stream) => stream.next()));
    expect(first.map(({ value }) => value?.payload?.$case)).toEqual(["task", "task"]);
    const rest = Promise.all(streams.map(eventsOf));
    await client.cancelTask({ tenant: "", id, metadata: undefined });
    for (const events of await rest) {
      expect(events.at(-1)).toMatchObject({
        statusUpdate: { taskId: id, status: { state: "TASK_STATE_CANCELED" } },
      });
    }
  });

  it(`sees a question on its streams, which ${version === "1.0" ? "then go on" : "end there"}`, async () => {
    const { id: taskId } = await sendForTask(client, saying("tck-input-required"));
    const streams = [1, 2].map(() => client.resubscribeTask({ tenant: "", id: taskId }));
    const first = await Promise.all(streams.map((stream) => stream.next()));
    expect(first.map(({ value }) => value?.payload?.$case)).toEqual(["task", "task"]);
    const rest = Promise.all(streams.map(eventsOf));
    await client.sendMessage(saying("answer", { taskId }));
    const [events, others] = await rest;
    expect(others).toEqual(events);
    const ended = { statusUpdate: { taskId, status: { state: "TASK_STATE_COMPLETED" } } };
    if (version === "1.0") expect(events?.at(-1)).toMatchObject(ended);
    else expect(events).toEqual([]);
  });

  it("cancels a task that runs, again and again", async () => {
    const request = saying("tck-cancel", { configuration: { returnImmediately: true } });
    const { id } = await sendForTask(client, request);
    for (const _time of [1, 2]) {
      const canceled = await client.cancelTask({ tenant: "", id, metadata: undefined });
      expect(asTask(canceled)).toMatchObject({ id, status: { state: "TASK_STATE_CANCELED" } });
    }
  });

  it("answers a question, and the task goes on", async () => {
    const { id, contextId, status } = await sendForTask(client, saying("tck-input-required"));
    expect(status).toMatchObject({
      state: "TASK_STATE_INPUT_REQUIRED",
      message: { parts: [{ text: "What else is there to know?" }] },
    });
    const answer = saying("answer", { text: "that it is blue", taskId: id, contextId });
    const answered = await sendForTask(client, answer);
    expect(answered).toMatchObject({ id, contextId, status: { state: "TASK_STATE_COMPLETED" } });
    expect(answered.artifacts).toMatchObject([{ parts: [{ text: "that it is blue" }] }]);
    expect(answered.history?.map(({ role }) => role)).toEqual([
      "ROLE_USER",
      "ROLE_AGENT",
      "ROLE_USER",
    ]);
  });

  it("sees a stream end with a question, and another with the answer's end", async () => {
    const asked = await eventsOf(client.sendMessageStream(saying("tck-auth-required")));
    const last = asked.at(-1) as { statusUpdate: { taskId: string; status: { state: string } } };
    expect(last).toMatchObject({ statusUpdate: { status: { state: "TASK_STATE_AUTH_REQUIRED" } } });
    const { taskId } = last.statusUpdate;
    const events = await eventsOf(
      client.sendMessageStream(saying("answer", { text: "signed in", taskId })),
    );
    expect(events[0]).toMatchObject({ task: { id: taskId } });
    expect(events.at(-1)).toMatchObject({
      statusUpdate: { taskId, status: { state: "TASK_STATE_COMPLETED" } },
    });
  });

  it.each([
    ["tck-reject-task", "TASK_STATE_REJECTED"],
    ["tck-task-failure", "TASK_STATE_FAILED"],
  ])("sees how %s ends", async (scenario, state) => {
    expect((await sendForTask(client, saying(scenario))).status.state).toBe(state);
  });

  it("gets the same task for the same message", async () => {
    const request = saying("tck-complete-task", { messageId: randomUUID() });
    const [first, second] = [
      await sendForTask(client, request),
      await sendForTask(client, request),
    ];
    expect(second.id).toBe(first.id);
  });
});
