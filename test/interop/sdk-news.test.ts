/** The client of the official SDK against our host: notifications and lists of tasks. */
import { randomUUID } from "node:crypto";
import { ListTasksResponse } from "@a2a-js/sdk";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { startReceiver } from "../execution/a2a/push-zone.ts";
import { eventually } from "../execution/test-host.ts";
import { type OurHost, startOurHost } from "./our-host.ts";
import { quickAgent } from "./quick-agent.ts";
import { pushConfig, saying, sdkClient, sendForTask } from "./sdk-client.ts";

const tenant = "";

let host: OurHost;
beforeAll(async () => {
  host = await startOurHost({ agent: quickAgent });
});
afterAll(() => host.close());

describe.each(["1.0", "0.3"] as const)(
  "notifications of our host for the SDK's client, %s",
  (version) => {
    it("notifies the SDK's client of the end of a task until the notifications are deleted", async () => {
      const client = await sdkClient({ host, version });
      const receiver = await startReceiver();
      const inSend = { taskPushNotificationConfig: pushConfig({ id: "early", url: receiver.url }) };
      const { id: taskId } = await sendForTask(
        client,
        saying("tck-input-required", { configuration: inSend }),
      );
      await eventually(() =>
        receiver.received.some(({ json }) => /input.required/i.test(JSON.stringify(json))),
      );
      const created = await client.createTaskPushNotificationConfig(
        pushConfig({ id: "late", taskId, url: receiver.url }),
      );
      expect(created).toMatchObject({ id: "late", taskId });
      expect(
        await client.getTaskPushNotificationConfig({ tenant, taskId, id: "late" }),
      ).toMatchObject({ id: "late" });
      const { configs } = await client.listTaskPushNotificationConfig({
        tenant,
        taskId,
        pageSize: 0,
        pageToken: "",
      });
      expect(configs.map(({ id }) => id)).toEqual(["early", "late"]);
      await client.deleteTaskPushNotificationConfig({ tenant, taskId, id: "early" });
      await client.sendMessage(saying("answer", { taskId }));
      const end = () =>
        receiver.received.filter(({ json }) => /completed/i.test(JSON.stringify(json)));
      await eventually(() => end().length > 0);
      expect(end()).toHaveLength(1);
      expect(end()[0]?.json).toMatchObject(
        version === "1.0" ? { task: { id: taskId } } : { kind: "task", id: taskId },
      );
      expect(end()[0]?.headers.get("authorization")).toBe("Bearer secret");
      await receiver.close();
    });
  },
);

describe("the list of tasks", () => {
  it("lists the tasks of a conversation page by page, the newest first", async () => {
    const client = await sdkClient({ host, version: "1.0" });
    const contextId = randomUUID();
    const ids: string[] = [];
    for (const scenario of ["tck-complete-task", "tck-input-required", "tck-complete-task"]) {
      ids.unshift((await sendForTask(client, saying(scenario, { contextId }))).id);
      // Tasks of the same millisecond have no order.
      const beganAtMs = Date.now();
      await eventually(() => Date.now() > beganAtMs);
    }
    const rest = { tenant, status: 0, historyLength: undefined, statusTimestampAfter: undefined };
    const list = (pageToken: string) =>
      client.listTasks({ ...rest, contextId, pageSize: 2, pageToken, includeArtifacts: true });
    const first = await list("");
    const second = await list(first.nextPageToken);
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids);
    expect(ListTasksResponse.toJSON(second)).toMatchObject({
      totalSize: 3,
      tasks: [{ artifacts: [{}] }],
    });
    expect(second.nextPageToken).toBe("");
  });
});
