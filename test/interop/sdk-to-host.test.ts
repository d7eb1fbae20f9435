import type { Client } from "@a2a-js/sdk/client";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { type OurHost, startOurHost } from "./our-host.ts";
import { quickAgent } from "./quick-agent.ts";
import { eventsOf, saying, sdkClient, sendForTask } from "./sdk-client.ts";

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

  it("waits for a task to end", async () => {
    const task = await sendForTask(client, saying("tck-complete-task"));
    expect([task.status.state, task.status.message]).toEqual(["TASK_STATE_COMPLETED", undefined]);
    expect(task.artifacts).toMatchObject([{ parts: [{ text: "Hello from TCK" }] }]);
    expect(task.history).toMatchObject([{ role: "ROLE_USER", parts: [{ text: "hello" }] }]);
  });

  it("receives a stream that begins with the task and ends with its state", async () => {
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

  it("resubscribes to a stream beside another subscriber", async () => {
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

  it("answers a question and receives the completed task", async () => {
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
});
