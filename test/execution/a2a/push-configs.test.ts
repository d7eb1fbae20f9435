import { validateHeaderValue } from "node:http";
import { describe, expect, it } from "@jest/globals";
import { questionKey } from "@sekisho/contracts/a2a/extension.ts";
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";
import type { PushConfig } from "@sekisho/contracts/a2a/push.ts";
import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import { pushTargetIssues } from "@sekisho/execution/a2a/push-configs.ts";
import { createPushDelivery } from "@sekisho/execution/a2a/push-delivery.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import fc from "fast-check";
import { createDelayedQueue } from "../../doubles/delayed-queue.ts";
import { afterTest } from "../../tooling/cleanup.ts";
import { answering, createGate, eventually, memoryStore, yielding } from "../test-host.ts";
import { type A2aHost, serveA2a, userMessage } from "./a2a-host.ts";
import { createPushZone, memoryQueue, principal, secrets, startReceiver } from "./push-zone.ts";

const url = "https://client.example/hook";
const asking: Agent = yielding({ type: "question", prompt: "Really?" });

async function zoneWithTask(options: Partial<Parameters<typeof createPushZone>[0]> = {}) {
  const { queue, sent } = memoryQueue();
  const zone = createPushZone({ queue, agent: asking, ...options });
  const { id: taskId } = await zone.begin();
  const create = (config: Omit<PushConfig, "taskId">, version: A2aVersion = "1.0") =>
    zone.configs.create({ principal, params: { ...config, taskId }, version });
  const list = async () => (await zone.configs.list({ principal, params: { taskId } })).configs;
  return { ...zone, sent, taskId, create, list };
}

describe("a created configuration", () => {
  it("replaces only the configuration with the same id", async () => {
    const { create, list } = await zoneWithTask();
    await create({ id: "a", url });
    await create({ id: "b", url });
    await create({ id: "a", url: `${url}/2` });
    expect((await list()).map((config) => [config.id, config.url])).toEqual([
      ["b", url],
      ["a", `${url}/2`],
    ]);
  });

  it("generates an id in 1.0, and uses the id of the task in 0.3", async () => {
    const { create, taskId } = await zoneWithTask();
    expect((await create({ url })).id).toBe("new-id");
    expect((await create({ url }, "0.3")).id).toBe(taskId);
  });

  it("notifies a new receiver at once if the task asks a question or has ended", async () => {
    const { configs, taskId, create, sent, tasks } = await zoneWithTask();
    await create({ id: "a", url });
    await tasks.cancel({ principal, taskId });
    await create({ id: "b", url });
    const configIds = sent.map(({ body }) => JSON.parse(body).push.configId);
    expect(configIds).toEqual(["a", "a", "b"]);
    expect((await configs.list({ principal, params: { taskId } })).configs).toHaveLength(2);
  });

  it("sends no notification at once for a running task", async () => {
    const { create, sent, taskId, tasks } = await zoneWithTask();
    const change = ({
      question: _question,
      ...task
    }: Parameters<Parameters<typeof tasks.update>[0]["change"]>[0]) => ({
      ...task,
      state: "working" as const,
      lease: { owner: "somebody", untilMs: Date.now() + 60_000 },
    });
    await tasks.update({ principal, taskId, change });
    await create({ url });
    expect(sent).toEqual([]);
  });
});

describe("an invalid configuration", () => {
  it.each<[string, Partial<PushConfig>, string]>([
    ["to an address that is not public", { url: "https://169.254.169.254/latest" }, "url"],
    ["without https", { url: "http://client.example/" }, "url"],
    ["with a token that holds a line break", { token: "a\r\nb: c" }, "token"],
    [
      "with credentials that hold a line break",
      { authentication: { scheme: "Bearer", credentials: "a\nb" } },
      "authentication.credentials",
    ],
  ])(
    "refuses a configuration %s, and names its field in each version",
    async (_what, wrong, path) => {
      const { configs, create, list, taskId } = await zoneWithTask({ allowLoopback: false });
      const config = { url, ...wrong };
      const at = (place: string) => ({
        reason: "invalid_params",
        details: { issues: [{ path: place, message: expect.any(String) }] },
      });
      await expect(create(config)).rejects.toMatchObject(at(path));
      await expect(create(config, "0.3")).rejects.toMatchObject(
        at(`pushNotificationConfig.${path}`),
      );
      const inMessage = "configuration.taskPushNotificationConfig";
      expect(() => configs.read({ taskId, config, version: "1.0" })).toThrow(
        expect.objectContaining(at(`${inMessage}.${path}`)),
      );
      expect(() => configs.read({ taskId, config, version: "0.3" })).toThrow(
        expect.objectContaining(at(`configuration.pushNotificationConfig.${path}`)),
      );
      expect(await list()).toEqual([]);
    },
  );

  it("refuses an eleventh configuration of a task", async () => {
    const { create, list } = await zoneWithTask();
    for (let id = 0; id < 10; id++) await create({ id: String(id), url });
    await expect(create({ id: "10", url })).rejects.toMatchObject({ reason: "invalid_params" });
    await create({ id: "3", url: `${url}/2` });
    expect(await list()).toHaveLength(10);
  });

  it("refuses a configuration that would make the record too large", async () => {
    const { create } = await zoneWithTask();
    const large = {
      url,
      token: "t".repeat(4096),
      authentication: { scheme: "Bearer", credentials: "c".repeat(8192) },
    };
    await create({ ...large, id: "a" });
    await create({ ...large, id: "b" });
    await expect(create({ ...large, id: "c" })).rejects.toMatchObject({ reason: "invalid_params" });
  });
});

describe("a configuration in a message", () => {
  it("uses the id of the task for a configuration in a message, and stores its version", async () => {
    const { configs, taskId, store, list } = await zoneWithTask();
    const config = configs.read({ taskId, config: { url }, version: "0.3" });
    const storedConfig = { id: taskId, url, version: "0.3", registrationId: "new-id" };
    expect(config).toEqual(storedConfig);
    const task = (await store.get({ id: taskId })) as ExecutionTask;
    const attachedTask = await configs.attach({ task, config });
    expect(attachedTask.a2a?.pushConfigs).toEqual([storedConfig]);
    expect(await configs.attach({ task: attachedTask, config })).toBe(attachedTask);
    expect(await configs.attach({ task: attachedTask, config: undefined })).toBe(attachedTask);
    expect((await list()).map(({ id }) => id)).toEqual([taskId]);
  });
});

const fit = { url: "https://client.example/hook?key=1" };

function pathsOf(
  config: Parameters<typeof pushTargetIssues>[0]["config"],
  allowLoopback = false,
): string[] {
  return pushTargetIssues({ config, allowLoopback }).map(({ path }) => path);
}

describe("the address of a receiver", () => {
  it("accepts a host name as the address of a receiver", () => {
    expect(pathsOf(fit)).toEqual([]);
  });

  it.each([
    ["is not a URL", "client.example"],
    ["is http", "http://client.example/hook"],
    ["is http to a public address", "http://93.184.215.14/hook"],
    ["has another scheme", "ftp://client.example/hook"],
    ["holds credentials", "https://user@client.example/hook"],
    ["has a host that is too long to read", `https://${"a.".repeat(300)}example/hook`],
    ["holds a password", "https://:secret@client.example/hook"],
    ["is a literal address", "https://93.184.215.14:8443/hook"],
    ["is a literal address of IPv6", "https://[2606:2800:220:1::1]/hook"],
    ["names this machine", "https://localhost/hook"],
    ["names this machine with a dot", "https://localhost./hook"],
    ["names this machine below localhost", "https://agent.localhost/hook"],
    ["is this machine's", "http://127.0.0.1/hook"],
    ["names this machine in another notation", "https://0x7f.1/hook"],
    ["is the loopback address of IPv6", "https://[::1]/hook"],
    ["is a mapped loopback address", "https://[::ffff:127.0.0.1]/hook"],
    ["is of a private network", "https://10.1.2.3/hook"],
    ["is the metadata service", "https://169.254.169.254/latest"],
    ["is in a private IPv6 network", "https://[fd00::1]/hook"],
  ])("refuses the address of a receiver if it %s", (_what, url) => {
    expect(pathsOf({ url })).toEqual(["url"]);
  });

  it("accepts loopback addresses, also over http, only if allowed, and refuses other networks", () => {
    for (const url of [
      "http://127.0.0.1:4000/hook",
      "http://localhost/hook",
      "https://[::1]/hook",
    ]) {
      expect(pathsOf({ url }, true)).toEqual([]);
    }
    for (const url of [
      "http://10.1.2.3/hook",
      "https://10.1.2.3/hook",
      "http://client.example/hook",
    ]) {
      expect(pathsOf({ url }, true)).toEqual(["url"]);
    }
  });

  it("does not repeat the address in the issue", () => {
    const issues = pushTargetIssues({
      config: { url: "http://hunter2.example/hunter2" },
      allowLoopback: false,
    });
    expect(JSON.stringify(issues)).not.toContain("hunter2");
  });
});

describe("a token or credentials", () => {
  it.each([
    ["\r\nX-Admin: 1"],
    ["a\nb"],
    ["a\u0000b"],
    ["a\u007fb"],
    [" a"],
    ["a "],
    ["\t"],
    ["関所"],
  ])("refuses a token or credentials that could form more than one header: %j", (text) => {
    expect(pathsOf({ ...fit, token: text })).toEqual(["token"]);
    const authentication = { scheme: "Bearer", credentials: text };
    expect(pathsOf({ ...fit, authentication })).toEqual(["authentication.credentials"]);
  });

  it("accepts exactly the tokens that are valid header values", () => {
    const text = fc.oneof(
      fc.string({ unit: "grapheme-ascii" }),
      fc.string({ unit: "binary", maxLength: 3 }),
    );
    fc.assert(
      fc.property(text, (token) => {
        const isTaken = pathsOf({ ...fit, token }).length === 0;
        expect(isTaken).toBe(/^[ -~]+$/.test(token) && token.trim() === token);
        if (isTaken) expect(new Headers({ token }).get("token")).toBe(token);
        if (isTaken) validateHeaderValue("x-a2a-notification-token", token);
      }),
    );
  });
});

/** A host, what delivers its notifications at once, and a receiver of them. */
async function start({ agent = answering("done"), syncBudgetMs = 60_000 } = {}) {
  const receiver = await startReceiver();
  const store = memoryStore();
  const signal = new AbortController().signal;
  const notifications = createDelayedQueue({ handle: (body) => delivery.handle({ body, signal }) });
  const delivery = createPushDelivery({ store, queue: notifications, allowLoopback: true });
  afterTest(notifications.close);
  const host = await serveA2a({
    agent,
    store,
    syncBudgetMs,
    a2a: { notifications, allowLoopbackPush: true },
  });
  return { ...receiver, host };
}

const askingTwice: Agent = async function* ({ answers }) {
  if (answers.length < 2)
    yield { type: "question", prompt: "Which?", options: [{ id: "a", label: "The first" }] };
  else yield { type: "answer", text: "done" };
};

type Listed = { configs: { id: string }[] };

describe("a configuration in a message to a task with a question", () => {
  it("notifies a receiver registered in a reply about the change that the reply makes", async () => {
    const gate = createGate();
    const agent: Agent = (task, context) =>
      (task.answers.length === 0 ? askingTwice : gate.agent)(task, context);
    const { host, url, received } = await start({ agent });
    const { task } = await host.result<{ task: A2aTask }>("SendMessage", {
      message: userMessage("hi"),
    });
    const configuration = { taskPushNotificationConfig: { url }, returnImmediately: true };
    await host.result("SendMessage", {
      message: userMessage("a", { taskId: task.id }),
      configuration,
    });
    await eventually(() => received.length === 1);
    expect(received[0]?.json).toMatchObject({ task: { status: { state: "TASK_STATE_WORKING" } } });
    gate.letGo();
  });

  it.each([
    ["an option that was not offered", { metadata: { [questionKey]: { option_id: "b" } } }],
    ["a known message id with different content", { messageId: "m1", parts: [{ text: "other" }] }],
  ])("refuses a message and its configuration: %s", async (_what, more) => {
    const { host, url } = await start({ agent: askingTwice });
    const { task } = await host.result<{ task: A2aTask }>("SendMessage", {
      message: userMessage("hi"),
    });
    await host.result("SendMessage", {
      message: userMessage("a", { taskId: task.id, messageId: "m1" }),
    });
    const configuration = { taskPushNotificationConfig: { url } };
    const message = userMessage("b", { taskId: task.id, ...more });
    const { error } = await host.ask("SendMessage", { message, configuration });
    expect(error?.code).toBe(-32602);
    const { configs } = await host.result<Listed>("ListTaskPushNotificationConfigs", {
      taskId: task.id,
    });
    expect(configs).toEqual([]);
  });
});

describe("a configuration inside a message", () => {
  it("accepts a configuration in a repeated message, and notifies the receiver", async () => {
    const { host, url, received } = await start();
    const message = userMessage("hi");
    await host.result("SendMessage", { message });
    const configuration = { taskPushNotificationConfig: { url } };
    const { task } = await host.result<{ task: A2aTask }>("SendMessage", {
      message,
      configuration,
    });
    await eventually(() => received.length === 1);
    expect(received[0]?.json).toMatchObject({
      task: { id: task.id, status: { state: "TASK_STATE_COMPLETED" } },
    });
  });

  it("begins no task for a message with an invalid configuration", async () => {
    const { host } = await start();
    const configuration = { taskPushNotificationConfig: { url: "https://10.0.0.1/hook" } };
    const message = userMessage("hi");
    const { error } = await host.ask("SendMessage", { message, configuration });
    expect(error?.code).toBe(-32602);
    expect(JSON.stringify(error?.data)).toContain("configuration.taskPushNotificationConfig.url");
    expect((await host.result<{ tasks: unknown[] }>("ListTasks")).tasks).toEqual([]);
  });

  it.each([
    ["is added to the task that the message answers", askingTwice, 1, 20_000],
    ["is not added to a task that works", createGate().agent, 0, 30],
  ])("a configuration in a message %s", async (_what, agent, count, syncBudgetMs) => {
    const { host, url } = await start({ agent, syncBudgetMs });
    const { task } = await host.result<{ task: A2aTask }>("SendMessage", {
      message: userMessage("hi"),
    });
    const configuration = { taskPushNotificationConfig: { url } };
    const { error } = await host.ask("SendMessage", {
      message: userMessage("a", { taskId: task.id }),
      configuration,
    });
    expect(error?.code).toBe(count === 1 ? undefined : -32004);
    const { configs } = await host.result<Listed>("ListTaskPushNotificationConfigs", {
      taskId: task.id,
    });
    expect(configs).toHaveLength(count);
  });
});

describe("the operations on configurations", () => {
  async function finishTask(host: A2aHost): Promise<string> {
    return (
      await host.result<{ task: { id: string } }>("SendMessage", { message: userMessage("hi") })
    ).task.id;
  }

  it("creates, reads, lists and deletes configurations in 1.0, also for an ended task", async () => {
    const { host, url, received } = await start();
    const taskId = await finishTask(host);
    const config = { taskId, id: "mine", url, token: secrets.token };
    expect(await host.result("CreateTaskPushNotificationConfig", config)).toEqual(config);
    await eventually(() => received.length === 1);
    expect(await host.result("GetTaskPushNotificationConfig", { taskId, id: "mine" })).toEqual(
      config,
    );
    expect(await host.result("ListTaskPushNotificationConfigs", { taskId })).toEqual({
      configs: [config],
    });
    for (const _ of [1, 2])
      expect(await host.result("DeleteTaskPushNotificationConfig", { taskId, id: "mine" })).toEqual(
        {},
      );
    expect(
      (await host.ask("GetTaskPushNotificationConfig", { taskId, id: "mine" })).error?.code,
    ).toBe(-32001);
  });

  it("creates, reads, lists and deletes configurations in 0.3", async () => {
    const { host, url } = await start();
    const id = await finishTask(host);
    const config = { taskId: id, pushNotificationConfig: { id: "mine", url } };
    const call = (name: string, params: object) =>
      host.ask(`tasks/pushNotificationConfig/${name}`, params, { version: "0.3" });
    expect((await call("set", config)).result).toEqual(config);
    expect((await call("get", { id, pushNotificationConfigId: "mine" })).result).toEqual(config);
    expect((await call("list", { id })).result).toEqual([config]);
    expect((await call("delete", { id, pushNotificationConfigId: "mine" })).result).toBeNull();
    expect((await call("get", { id, pushNotificationConfigId: "mine" })).error?.code).toBe(-32001);
    const unnamedConfig = { taskId: id, pushNotificationConfig: { url } };
    expect((await call("set", unnamedConfig)).result).toMatchObject({
      pushNotificationConfig: { id },
    });
    expect((await call("get", { id, pushNotificationConfigId: "default" })).result).toMatchObject(
      unnamedConfig,
    );
    await call("delete", { id, pushNotificationConfigId: "default" });
    expect((await call("list", { id })).result).toEqual([]);
  });

  it("refuses a configuration in a message if the host has no queue for notifications", async () => {
    const host = await serveA2a();
    const configuration = { taskPushNotificationConfig: { url: "https://client.example/" } };
    expect(
      (await host.ask("SendMessage", { message: userMessage("hi"), configuration })).error?.code,
    ).toBe(-32003);
  });
});
