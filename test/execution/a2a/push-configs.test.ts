/** The operations on push configurations, and those that come with a message. */
import { describe, expect, it } from "@jest/globals";
import type { A2aVersion } from "../../../contracts/a2a/operations.ts";
import type { PushConfig } from "../../../contracts/a2a/push.ts";
import type { Agent } from "../../../lambdas/execution/agents/agent.ts";
import type { ExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import { yielding } from "../test-host.ts";
import { createPushZone, memoryQueue, principal, secrets } from "./push-zone.ts";

const url = "https://client.example/hook";
const authentication = { scheme: "Bearer", credentials: secrets.credentials };
const unknown = "2a3bb8fb-7a6f-4f4c-8d5d-0f2f4b1f3e11";
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

describe("a configuration that was created", () => {
  it("is shown as it was given, with the ids of its task and of itself", async () => {
    const { configs, taskId, create, list } = await zoneWithTask();
    const given = { id: "mine", url, token: secrets.token, authentication };
    const shown = { ...given, taskId };
    expect(await create(given)).toEqual(shown);
    expect(await configs.get({ principal, params: { taskId, id: "mine" } })).toEqual(shown);
    expect(await list()).toEqual([shown]);
  });

  it("replaces the one with its id, and no other", async () => {
    const { create, list } = await zoneWithTask();
    await create({ id: "a", url });
    await create({ id: "b", url });
    await create({ id: "a", url: `${url}/2` });
    expect((await list()).map((config) => [config.id, config.url])).toEqual([
      ["b", url],
      ["a", `${url}/2`],
    ]);
  });

  it("gets an id where it has none: of its own in 1.0, the task's in 0.3", async () => {
    const { create, taskId } = await zoneWithTask();
    expect((await create({ url })).id).toBe("new-id");
    expect((await create({ url }, "0.3")).id).toBe(taskId);
  });

  it("is gone when it was deleted, and deleting it again is fine", async () => {
    const { configs, taskId, create, list } = await zoneWithTask();
    await create({ id: "a", url });
    for (const _ of [1, 2]) expect(await configs.delete({ principal, params: { taskId, id: "a" } })).toEqual({});
    expect(await list()).toEqual([]);
    const gone = configs.get({ principal, params: { taskId, id: "a" } });
    await expect(gone).rejects.toMatchObject({ reason: "task_not_found" });
  });

  it("belongs to the task's own caller", async () => {
    const { configs, taskId, create } = await zoneWithTask();
    await create({ id: "a", url });
    const foreign = { principal: "another", params: { taskId, id: "a", url } };
    const notFound = { reason: "task_not_found" };
    await expect(configs.create({ ...foreign, version: "1.0" })).rejects.toMatchObject(notFound);
    await expect(configs.get(foreign)).rejects.toMatchObject(notFound);
    await expect(configs.list(foreign)).rejects.toMatchObject(notFound);
    await expect(configs.delete(foreign)).rejects.toMatchObject(notFound);
    const nowhere = configs.delete({ principal, params: { taskId: unknown, id: "a" } });
    await expect(nowhere).rejects.toMatchObject(notFound);
  });

  it("is told at once of a task that asks or is over, since what changed before is not told again", async () => {
    const { configs, taskId, create, sent, tasks } = await zoneWithTask();
    await create({ id: "a", url });
    await tasks.cancel({ principal, taskId });
    await create({ id: "b", url });
    const told = sent.map(({ body }) => JSON.parse(body).push.configId);
    expect(told).toEqual(["a", "a", "b"]);
    expect((await configs.list({ principal, params: { taskId } })).configs).toHaveLength(2);
  });

  it("is told nothing at once of a task that works", async () => {
    const { create, sent, taskId, tasks } = await zoneWithTask();
    const change = ({ question: _answered, ...task }: Parameters<Parameters<typeof tasks.update>[0]["change"]>[0]) => ({
      ...task,
      state: "working" as const,
      lease: { owner: "somebody", untilMs: Date.now() + 60_000 },
    });
    await tasks.update({ principal, taskId, change });
    await create({ url });
    expect(sent).toEqual([]);
  });
});

describe("a configuration is refused", () => {
  it.each<[string, Partial<PushConfig>, string]>([
    ["to an address that is not for everybody", { url: "https://169.254.169.254/latest" }, "url"],
    ["without https", { url: "http://client.example/" }, "url"],
    ["with a token that is more than one header", { token: "a\r\nb: c" }, "token"],
    [
      "with credentials that are more than one header",
      { authentication: { scheme: "Bearer", credentials: "a\nb" } },
      "authentication.credentials",
    ],
  ])("%s, where it lies in the params of each version", async (_what, wrong, path) => {
    const { configs, create, list, taskId } = await zoneWithTask({ allowLoopback: false });
    const config = { url, ...wrong };
    const at = (place: string) => ({
      reason: "invalid_params",
      details: { issues: [{ path: place, message: expect.any(String) }] },
    });
    await expect(create(config)).rejects.toMatchObject(at(path));
    await expect(create(config, "0.3")).rejects.toMatchObject(at(`pushNotificationConfig.${path}`));
    const inMessage = "configuration.taskPushNotificationConfig";
    expect(() => configs.read({ taskId, config, version: "1.0" })).toThrow(
      expect.objectContaining(at(`${inMessage}.${path}`)),
    );
    expect(() => configs.read({ taskId, config, version: "0.3" })).toThrow(
      expect.objectContaining(at(`configuration.pushNotificationConfig.${path}`)),
    );
    expect(await list()).toEqual([]);
  });

  it("where the task has ten others", async () => {
    const { create, list } = await zoneWithTask();
    for (let id = 0; id < 10; id++) await create({ id: String(id), url });
    await expect(create({ id: "10", url })).rejects.toMatchObject({ reason: "invalid_params" });
    await create({ id: "3", url: `${url}/2` });
    expect(await list()).toHaveLength(10);
  });

  it("where its task could not be kept in a record with all of them", async () => {
    const { create } = await zoneWithTask();
    const large = { url, token: "t".repeat(4096), authentication: { scheme: "Bearer", credentials: "c".repeat(8192) } };
    await create({ ...large, id: "a" });
    await create({ ...large, id: "b" });
    await expect(create({ ...large, id: "c" })).rejects.toMatchObject({ reason: "invalid_params" });
  });

  it("by a host that has no queue for notices, like every other operation on one", async () => {
    const { configs, taskId, create, list } = await zoneWithTask({ supported: false });
    const unsupported = { reason: "push_not_supported" };
    await expect(create({ url })).rejects.toMatchObject(unsupported);
    await expect(list()).rejects.toMatchObject(unsupported);
    await expect(configs.get({ principal, params: { taskId, id: "a" } })).rejects.toMatchObject(unsupported);
    await expect(configs.delete({ principal, params: { taskId, id: "a" } })).rejects.toMatchObject(unsupported);
    const inMessage = { taskId, config: { url }, version: "1.0" as const };
    expect(() => configs.read(inMessage)).toThrow(expect.objectContaining(unsupported));
    expect(configs.read({ ...inMessage, config: undefined })).toBeUndefined();
  });
});

describe("a configuration that comes with a message", () => {
  it("has the task's id where it has none, and remembers the version that it came in", async () => {
    const { configs, taskId, store, list } = await zoneWithTask();
    const config = configs.read({ taskId, config: { url }, version: "0.3" });
    const kept = { id: taskId, url, version: "0.3", registrationId: "new-id" };
    expect(config).toEqual(kept);
    const task = (await store.get({ id: taskId })) as ExecutionTask;
    const attached = await configs.attach({ task, config });
    expect(attached.a2a?.pushConfigs).toEqual([kept]);
    expect(await configs.attach({ task: attached, config })).toBe(attached);
    expect(await configs.attach({ task: attached, config: undefined })).toBe(attached);
    expect((await list()).map(({ id }) => id)).toEqual([taskId]);
  });

  it("is there from the task's first change on", async () => {
    const { queue, sent } = memoryQueue();
    const zone = createPushZone({ queue });
    const config = zone.configs.read({ taskId: unknown, config: { id: "c1", url }, version: "1.0" });
    await zone.begin(config && { pushConfigs: [config] });
    expect(sent).toHaveLength(2);
  });
});
