/** Push notifications over the wire, as clients of 1.0 and 0.3 ask for them and get them. */
import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "@jest/globals";
import { questionKey } from "../../../contracts/a2a/extension.ts";
import type { A2aTask } from "../../../contracts/a2a/task.ts";
import { createPushDelivery } from "../../../lambdas/execution/a2a/push-delivery.ts";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import { createDelayedQueue } from "../../doubles/delayed-queue.ts";
import { answering, createGate, eventually, memoryStore } from "../test-host.ts";
import { type A2aHost, startA2aHost, userMessage } from "./a2a-host.ts";
import { secrets, startReceiver } from "./push-zone.ts";

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

/** A host, what delivers its notifications at once, and a receiver of them. */
async function start({ agent = answering("done") } = {}) {
  const receiver = await startReceiver();
  const store = memoryStore();
  const signal = new AbortController().signal;
  const notifications = createDelayedQueue({ handle: (body) => delivery.handle({ body, signal }) });
  const delivery = createPushDelivery({ store, queue: notifications, allowLoopback: true });
  const host = await startA2aHost({ agent, store, a2a: { notifications, allowLoopbackPush: true } });
  toClose.push(host.close, notifications.close, receiver.close);
  return { ...receiver, host };
}

const authentication = { scheme: "Bearer", credentials: secrets.credentials };
const v03Message = () => ({
  kind: "message",
  messageId: randomUUID(),
  role: "user",
  parts: [{ kind: "text", text: "hi" }],
});

const asking: Agent = async function* ({ answers }) {
  if (answers.length < 2) yield { type: "question", prompt: "Which?", options: [{ id: "a", label: "The first" }] };
  else yield { type: "answer", text: "done" };
};

type Listed = { configs: { id: string }[] };

describe("a configuration inside a message to a task that asks", () => {
  it("is told from the very change that the message makes", async () => {
    const gate = createGate();
    const agent: Agent = (task, context) => (task.answers.length === 0 ? asking : gate.agent)(task, context);
    const { host, url, received } = await start({ agent });
    const { task } = await host.result<{ task: A2aTask }>("SendMessage", { message: userMessage("hi") });
    const configuration = { taskPushNotificationConfig: { url }, returnImmediately: true };
    await host.result("SendMessage", { message: userMessage("a", { taskId: task.id }), configuration });
    await eventually(() => received.length === 1);
    expect(received[0]?.json).toMatchObject({ task: { status: { state: "TASK_STATE_WORKING" } } });
    gate.letGo();
  });

  it.each([
    ["that names an option which was not offered", { metadata: { [questionKey]: { option_id: "b" } } }],
    ["whose id came before with other content", { messageId: "m1", parts: [{ text: "other" }] }],
  ])("%s is refused with it", async (_what, more) => {
    const { host, url } = await start({ agent: asking });
    const { task } = await host.result<{ task: A2aTask }>("SendMessage", { message: userMessage("hi") });
    await host.result("SendMessage", { message: userMessage("a", { taskId: task.id, messageId: "m1" }) });
    const configuration = { taskPushNotificationConfig: { url } };
    const message = userMessage("b", { taskId: task.id, ...more });
    const { error } = await host.ask("SendMessage", { message, configuration });
    expect(error?.code).toBe(-32602);
    const { configs } = await host.result<Listed>("ListTaskPushNotificationConfigs", { taskId: task.id });
    expect(configs).toEqual([]);
  });
});

describe("a configuration inside a message", () => {
  it("that comes again with one is taken all the same, and told what there is to tell", async () => {
    const { host, url, received } = await start();
    const message = userMessage("hi");
    await host.result("SendMessage", { message });
    const configuration = { taskPushNotificationConfig: { url } };
    const { task } = await host.result<{ task: A2aTask }>("SendMessage", { message, configuration });
    await eventually(() => received.length === 1);
    expect(received[0]?.json).toMatchObject({ task: { id: task.id, status: { state: "TASK_STATE_COMPLETED" } } });
  });

  it("of 1.0 brings the end of the task in 1.0", async () => {
    const { host, url, received } = await start();
    const configuration = { taskPushNotificationConfig: { url, token: secrets.token, authentication } };
    const { task } = await host.result<{ task: { id: string } }>("SendMessage", {
      message: userMessage("hi"),
      configuration,
    });
    await eventually(() => JSON.stringify(received).includes("TASK_STATE_COMPLETED"));
    const { headers, json } = received.at(-1) ?? {};
    expect(json).toEqual({ task: await host.result("GetTask", { id: task.id }) });
    expect(headers?.get("authorization")).toBe(`Bearer ${secrets.credentials}`);
    expect(headers?.get("x-a2a-notification-token")).toBe(secrets.token);
  });

  it("of 0.3 brings the end of the task in 0.3, and is found by the task's id", async () => {
    const { host, url, received } = await start();
    const pushNotificationConfig = { url, authentication: { schemes: ["Bearer"], credentials: secrets.credentials } };
    const params = { message: v03Message(), configuration: { pushNotificationConfig } };
    const { id } = await host.result<{ id: string }>("message/send", params, { version: "0.3" });
    await eventually(() => JSON.stringify(received).includes('"completed"'));
    const { headers, json } = received.at(-1) ?? {};
    expect(json).toEqual(await host.result("tasks/get", { id }, { version: "0.3" }));
    expect(headers?.get("authorization")).toBe(`Bearer ${secrets.credentials}`);
    const config = await host.result("tasks/pushNotificationConfig/get", { id }, { version: "0.3" });
    expect(config).toEqual({ taskId: id, pushNotificationConfig: { id, ...pushNotificationConfig } });
  });

  it("that is no good begins no task", async () => {
    const { host } = await start();
    const configuration = { taskPushNotificationConfig: { url: "https://10.0.0.1/hook" } };
    const message = userMessage("hi");
    const { error } = await host.ask("SendMessage", { message, configuration });
    expect(error?.code).toBe(-32602);
    expect(JSON.stringify(error?.data)).toContain("configuration.taskPushNotificationConfig.url");
    expect((await host.result<{ tasks: unknown[] }>("ListTasks")).tasks).toEqual([]);
  });
});

describe("the operations on configurations", () => {
  async function finished(host: A2aHost): Promise<string> {
    return (await host.result<{ task: { id: string } }>("SendMessage", { message: userMessage("hi") })).task.id;
  }

  it("of 1.0 create, get, list and delete, also for a task that is over, of which the receiver hears at once", async () => {
    const { host, url, received } = await start();
    const taskId = await finished(host);
    const config = { taskId, id: "mine", url, token: secrets.token };
    expect(await host.result("CreateTaskPushNotificationConfig", config)).toEqual(config);
    await eventually(() => received.length === 1);
    expect(await host.result("GetTaskPushNotificationConfig", { taskId, id: "mine" })).toEqual(config);
    expect(await host.result("ListTaskPushNotificationConfigs", { taskId })).toEqual({ configs: [config] });
    for (const _ of [1, 2]) await host.result("DeleteTaskPushNotificationConfig", { taskId, id: "mine" });
    expect((await host.ask("GetTaskPushNotificationConfig", { taskId, id: "mine" })).error?.code).toBe(-32001);
  });

  it("of 0.3 do the same", async () => {
    const { host, url } = await start();
    const id = await finished(host);
    const config = { taskId: id, pushNotificationConfig: { id: "mine", url } };
    const call = (name: string, params: object) =>
      host.ask(`tasks/pushNotificationConfig/${name}`, params, { version: "0.3" });
    expect((await call("set", config)).result).toEqual(config);
    expect((await call("get", { id, pushNotificationConfigId: "mine" })).result).toEqual(config);
    expect((await call("list", { id })).result).toEqual([config]);
    expect((await call("delete", { id, pushNotificationConfigId: "mine" })).result).toBeNull();
    expect((await call("get", { id, pushNotificationConfigId: "mine" })).error?.code).toBe(-32001);
  });

  it("are not supported by a host without a queue for them, nor is a configuration inside a message", async () => {
    const host = await startA2aHost();
    toClose.push(host.close);
    const taskId = await finished(host);
    const params = { taskId, id: "mine", url: "https://client.example/" };
    for (const method of [
      "CreateTaskPushNotificationConfig",
      "GetTaskPushNotificationConfig",
      "ListTaskPushNotificationConfigs",
      "DeleteTaskPushNotificationConfig",
    ]) {
      expect((await host.ask(method, params)).error?.code).toBe(-32003);
    }
    const configuration = { taskPushNotificationConfig: { url: params.url } };
    expect((await host.ask("SendMessage", { message: userMessage("hi"), configuration })).error?.code).toBe(-32003);
  });
});
