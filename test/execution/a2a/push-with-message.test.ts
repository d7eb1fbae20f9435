/** Push configurations through the host, in a message and by their operations, and the notices that changes leave in the queue. */
import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "@jest/globals";
import type { PushConfig } from "../../../contracts/a2a/push.ts";
import type { A2aTask } from "../../../contracts/a2a/task.ts";
import { createGate, yielding } from "../test-host.ts";
import { type A2aHost, startA2aHost, userMessage } from "./a2a-host.ts";
import { memoryQueue } from "./push-zone.ts";

const open: A2aHost[] = [];
afterEach(async () => {
  for (const host of open.splice(0)) await host.close();
});

async function serve(options: Parameters<typeof startA2aHost>[0] = {}) {
  const { queue, sent } = memoryQueue();
  const host = await startA2aHost({ ...options, a2a: { notifications: queue } });
  open.push(host);
  const notices = () =>
    sent.map(({ body }) => (JSON.parse(body) as { push: { taskId: string; configId: string } }).push);
  return { host, notices };
}

const url = "https://hooks.example/a2a";

describe("a message with a push configuration", () => {
  it("in 1.0 has its task's changes told, and the configuration can be read", async () => {
    const { host, notices } = await serve();
    const configuration = { taskPushNotificationConfig: { url, id: "mine" } };
    const { task } = await host.result<{ task: A2aTask }>("SendMessage", { message: userMessage("hi"), configuration });
    expect(notices()).toContainEqual(expect.objectContaining({ taskId: task.id, configId: "mine" }));
    const found = await host.result<PushConfig>("GetTaskPushNotificationConfig", { taskId: task.id, id: "mine" });
    expect(found).toMatchObject({ taskId: task.id, id: "mine", url });
  });

  it("in 0.3 likewise, under its task's own id", async () => {
    const { host, notices } = await serve();
    const message = { messageId: randomUUID(), role: "user", parts: [{ kind: "text", text: "hi" }] };
    const params = { message, configuration: { pushNotificationConfig: { url } } };
    const { id } = await host.result("message/send", params, { version: "0.3" });
    expect(notices()).toContainEqual(expect.objectContaining({ taskId: id, configId: id }));
    const found = await host.result("tasks/pushNotificationConfig/get", { id }, { version: "0.3" });
    expect(found).toMatchObject({ taskId: id, pushNotificationConfig: { id, url } });
  });

  it("is refused for an address that is not safe, told where, and begins no task", async () => {
    const { host } = await serve();
    const message = userMessage("hi");
    const configuration = { taskPushNotificationConfig: { url: "http://169.254.169.254/latest" } };
    const { error } = await host.ask("SendMessage", { message, configuration });
    expect([error?.code, error?.data[1]]).toMatchObject([
      -32602,
      { fieldViolations: [{ field: "configuration.taskPushNotificationConfig.url" }] },
    ]);
    expect(await host.result("ListTasks")).toMatchObject({ totalSize: 0 });
  });

  it("that goes on with a task adds it, and one that is refused leaves none", async () => {
    const agents = { asking: yielding({ type: "question", prompt: "Which?" }), working: createGate().agent };
    for (const [agent, count, syncBudgetMs] of [
      [agents.asking, 1, 20_000],
      [agents.working, 0, 30],
    ] as const) {
      const { host } = await serve({ agent, syncBudgetMs });
      const { task } = await host.result<{ task: A2aTask }>("SendMessage", { message: userMessage("hi") });
      const configuration = { taskPushNotificationConfig: { url } };
      const { error } = await host.ask("SendMessage", {
        message: userMessage("a", { taskId: task.id }),
        configuration,
      });
      expect(error?.code).toBe(count === 1 ? undefined : -32004);
      const { configs } = await host.result<{ configs: PushConfig[] }>("ListTaskPushNotificationConfigs", {
        taskId: task.id,
      });
      expect(configs).toHaveLength(count);
    }
  });
});

describe("the operations on push configurations", () => {
  it.each([
    ["1.0", "DeleteTaskPushNotificationConfig", { id: "c" }, {}],
    ["0.3", "tasks/pushNotificationConfig/delete", { pushNotificationConfigId: "c" }, null],
  ])("in %s add, list and remove", async (version, method, name, nothing) => {
    const isFirst = version === "1.0";
    const { host } = await serve();
    const { task } = await host.result<{ task: A2aTask }>("SendMessage", { message: userMessage("hi") });
    const id = task.id;
    const of = isFirst ? { taskId: id } : { id };
    const config = isFirst ? { url, id: "c" } : { pushNotificationConfig: { url, id: "c" } };
    const [create, list] = isFirst
      ? ["CreateTaskPushNotificationConfig", "ListTaskPushNotificationConfigs"]
      : ["tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/list"];
    const made = await host.result<object>(create, { taskId: id, ...config }, { version });
    const listed = await host.result<object>(list, of, { version });
    expect(listed).toEqual(isFirst ? { configs: [made] } : [made]);
    for (let count = 0; count < 2; count += 1) {
      expect((await host.ask<unknown>(method, { ...of, ...name }, { version })).result).toEqual(nothing);
    }
    expect(await host.result(list, of, { version })).toEqual(isFirst ? { configs: [] } : []);
  });
});
