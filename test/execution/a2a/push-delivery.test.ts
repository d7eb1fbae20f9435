/** The delivery of push notifications to real receivers: what arrives, and who is never asked. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { toA2aTask } from "../../../lambdas/execution/a2a/view.ts";
import { createPublicPost } from "../../../lambdas/shared/public-fetch/public-fetch.ts";
import { v03EventSchema } from "../../contracts/a2a/v03/event-schema.ts";
import { connectionReset } from "../../doubles/web-server.ts";
import { eventually, yielding } from "../test-host.ts";
import { configOf, principal, secrets, startReceiver, statesOf, zoneWithReceiver } from "./push-zone.ts";

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

const signal = new AbortController().signal;
const asking = yielding({ type: "question", prompt: "Really?" });

async function start(options: Parameters<typeof zoneWithReceiver>[0] = {}) {
  const zone = await zoneWithReceiver(options);
  toClose.push(zone.close);
  return zone;
}

describe("a notification", () => {
  it("is the task in the shape of 1.0, with the receiver's credentials and token", async () => {
    const { task, received, deliverAll } = await start();
    await deliverAll();
    expect(received).toHaveLength(1);
    const { target, headers, json } = received[0] ?? {};
    expect(target).toBe("/hook?key=hunter2-query");
    expect(json).toEqual({ task: toA2aTask({ task }) });
    expect(json).toMatchObject({ task: { id: task.id, status: { state: "TASK_STATE_COMPLETED" } } });
    expect(Object.fromEntries(headers ?? [])).toMatchObject({
      "content-type": "application/a2a+json",
      authorization: `Bearer ${secrets.credentials}`,
      "x-a2a-notification-token": secrets.token,
      "a2a-version": "1.0",
    });
  });

  it("is the bare task in the shape of 0.3 where a client of 0.3 registered", async () => {
    const { task, received, deliverAll } = await start({ config: { version: "0.3" } });
    await deliverAll();
    const { headers, json } = received[0] ?? {};
    expect(json).toMatchObject({ kind: "task", id: task.id, contextId: "c", status: { state: "completed" } });
    expect(v03EventSchema.parse(json)).toMatchObject({ task: { id: task.id } });
    expect(headers?.get("content-type")).toBe("application/json");
    expect(headers?.get("a2a-version")).toBe("0.3");
  });

  it.each([
    ["nothing proves who sends it", undefined],
    ["there is a scheme alone", { scheme: "Bearer", credentials: undefined }],
  ])("has no header of a secret where %s", async (_what, authentication) => {
    const { received, deliverAll } = await start({ config: { token: undefined, authentication } });
    await deliverAll();
    expect([...(received[0]?.headers.keys() ?? [])].sort()).toEqual([
      "a2a-version",
      "connection",
      "content-length",
      "content-type",
      "host",
    ]);
  });

  it("tells the newest state: the notice of a state that has passed is dropped", async () => {
    const { received, deliverAll, sent, messages } = await start();
    expect(sent).toHaveLength(2);
    await deliverAll();
    expect(statesOf(received)).toEqual(["TASK_STATE_COMPLETED"]);
    expect(messages()).toContain("push_not_due");
  });

  it("tells each state that is there to be told", async () => {
    const { task, received, deliverAll, tasks } = await start({ agent: asking });
    await deliverAll();
    await tasks.cancel({ principal, taskId: task.id });
    await deliverAll();
    expect(statesOf(received)).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_CANCELED"]);
  });

  it("tells a second question once, though the notice of the first one is late", async () => {
    const { task, received, deliverAll, tasks, running } = await start({ agent: asking });
    // A question of the same millisecond would be told twice.
    await eventually(() => Date.now() > task.changedAtMs);
    await tasks.answer({ principal, taskId: task.id, answer: { id: "m2", fingerprint: "f2", text: "yes" } });
    await running.ended(task.id);
    await deliverAll();
    expect(statesOf(received)).toEqual(["TASK_STATE_INPUT_REQUIRED"]);
  });

  it("goes to every receiver of the task, whatever another one does", async () => {
    const other = await startReceiver();
    toClose.push(other.close);
    const { task, received, deliverAll, tasks, store } = await start({ agent: asking, answers: [500, 410] });
    const second = configOf({ id: "c2", url: other.url });
    await tasks.update({
      ...{ principal, taskId: task.id },
      change: (record) =>
        record.a2a && { ...record, a2a: { ...record.a2a, pushConfigs: [...(record.a2a.pushConfigs ?? []), second] } },
    });
    expect((await store.get({ id: task.id }))?.a2a?.pushConfigs).toHaveLength(2);
    await tasks.cancel({ principal, taskId: task.id });
    await deliverAll();
    expect(statesOf(received)).toEqual(["TASK_STATE_CANCELED", "TASK_STATE_CANCELED"]);
    expect(statesOf(other.received)).toEqual(["TASK_STATE_CANCELED"]);
  });
});

describe("nobody is asked", () => {
  it("where the configuration was deleted meanwhile", async () => {
    const { task, configs, received, deliverAll } = await start();
    await configs.delete({ principal, params: { taskId: task.id, id: "c1" } });
    await deliverAll();
    expect(received).toEqual([]);
  });

  it("where the task is known no more", async () => {
    const { received, sent, lines, delivery } = await start();
    const { push } = JSON.parse(sent[0]?.body ?? "");
    await delivery.deliver({ ...push, taskId: "2a3bb8fb-7a6f-4f4c-8d5d-0f2f4b1f3e11", signal });
    expect(received).toEqual([]);
    expect(lines.join("")).not.toContain("push_given_up");
  });

  it.each([
    ["a private address", "10.0.0.1"],
    ["the metadata service", "169.254.169.254"],
    ["this machine", "127.0.0.1"],
  ])("where the name of the receiver leads to %s", async (_what, address) => {
    const asked: string[] = [];
    const resolve = async (name: string) => {
      asked.push(name);
      return [{ address, family: 4 }];
    };
    const { received, deliverAll, lines } = await start({
      config: { url: "https://client.example/hook" },
      post: createPublicPost({ resolve }),
    });
    await deliverAll();
    expect(asked).toEqual(["client.example"]);
    expect(received).toEqual([]);
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ message: "push_given_up", reason: "permission_denied" });
  });

  it("where the receiver is this machine and that is not allowed any more", async () => {
    const { received, deliverAll, messages } = await start({ allowLoopback: false });
    await deliverAll();
    expect(received).toEqual([]);
    expect(messages().at(-1)).toBe("push_given_up");
  });

  it("twice for its address: the connection goes where the first look-up led", async () => {
    const asked: string[] = [];
    const resolve = async (name: string) => {
      asked.push(name);
      return [{ address: asked.length === 1 ? "127.0.0.1" : "127.0.0.9", family: 4 }];
    };
    const receiver = await startReceiver();
    toClose.push(receiver.close);
    const { deliverAll } = await start({
      config: { url: receiver.url.replace("127.0.0.1", "localhost") },
      post: createPublicPost({ resolve, allowLoopback: true }),
    });
    await deliverAll();
    expect(asked).toEqual(["localhost"]);
    expect(receiver.received).toHaveLength(1);
  });
});

it("nothing of where notifications go, or of what proves who sends them, is ever logged", async () => {
  for (const answers of [
    [],
    [503],
    [401],
    [
      () => {
        throw connectionReset;
      },
    ],
  ]) {
    const { deliverAll, lines } = await start({ answers });
    await deliverAll();
    expect(lines.length).toBeGreaterThan(2);
    for (const secret of ["hunter2", "127.0.0.1", "/hook"]) expect(lines.join("")).not.toContain(secret);
  }
});
