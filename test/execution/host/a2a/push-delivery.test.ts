/** The delivery of push notifications to real receivers: what arrives, what is tried again, and what is never asked. */
import { afterEach, describe, expect, it } from "@jest/globals";
import { v03EventSchema } from "../../../../contracts/a2a/v03/events.ts";
import type { ExecutionTask } from "../../../../lambdas/execution/host/execution-task.ts";
import { createPublicPost } from "../../../../lambdas/shared/public-fetch/public-post.ts";
import { silence } from "../../../doubles/answers.ts";
import { connectionReset } from "../../../doubles/web-server.ts";
import { answering, eventually, memoryStore, yielding } from "../test-host.ts";
import { configOf, createPushZone, memoryQueue, principal, secrets, startReceiver, statesOf } from "./push-zone.ts";

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

const signal = new AbortController().signal;
const asking = yielding({ type: "question", prompt: "Really?" });

type ZoneOptions = Partial<Parameters<typeof createPushZone>[0]>;

/** A receiver and a zone with one task that is over, whose notices wait in the queue. */
async function zoneWithReceiver({
  answers = [],
  config = {},
  ...options
}: ZoneOptions & Parameters<typeof startReceiver>[0] & { config?: Partial<Parameters<typeof configOf>[0]> } = {}) {
  const receiver = await startReceiver({ answers });
  toClose.push(receiver.close);
  const { queue, sent } = memoryQueue();
  const zone = createPushZone({ queue, ...options });
  const task = await zone.begin({ pushConfigs: [configOf({ url: receiver.url, ...config })] });
  /** Delivers what waits, in order and without its delays, until nothing does. */
  async function deliverAll(): Promise<number[]> {
    const delays: number[] = [];
    for (let message = sent.shift(); message !== undefined; message = sent.shift()) {
      delays.push(message.delayMs);
      await zone.delivery.handle({ body: message.body, signal });
    }
    return delays;
  }
  const messages = () => zone.lines.map((line) => JSON.parse(line).message as string);
  return { ...zone, ...receiver, sent, task, deliverAll, messages };
}

describe("a notification", () => {
  it("is the task in the shape of 1.0, with the receiver's credentials and token", async () => {
    const { task, received, deliverAll } = await zoneWithReceiver();
    await deliverAll();
    expect(received).toHaveLength(1);
    const { target, headers, json } = received[0] ?? {};
    expect(target).toBe("/hook?key=hunter2-query");
    expect(json).toEqual({ task: { id: task.id, contextId: "c", status: { state: "TASK_STATE_COMPLETED" } } });
    expect(Object.fromEntries(headers ?? [])).toMatchObject({
      "content-type": "application/a2a+json",
      authorization: `Bearer ${secrets.credentials}`,
      "x-a2a-notification-token": secrets.token,
      "a2a-version": "1.0",
    });
  });

  it("is the bare task in the shape of 0.3 where a client of 0.3 registered", async () => {
    const { task, received, deliverAll } = await zoneWithReceiver({ config: { version: "0.3" } });
    await deliverAll();
    const { headers, json } = received[0] ?? {};
    expect(json).toEqual({ kind: "task", id: task.id, contextId: "c", status: { state: "completed" } });
    expect(v03EventSchema.parse(json)).toMatchObject({ task: { id: task.id } });
    expect(headers?.get("content-type")).toBe("application/json");
    expect(headers?.get("a2a-version")).toBe("0.3");
  });

  it("has no header of a secret that was not given", async () => {
    const bare = { token: undefined, authentication: undefined };
    const { received, deliverAll } = await zoneWithReceiver({ config: bare });
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
    const { received, deliverAll, sent, messages } = await zoneWithReceiver();
    expect(sent).toHaveLength(2);
    await deliverAll();
    expect(statesOf(received)).toEqual(["TASK_STATE_COMPLETED"]);
    expect(messages()).toContain("push_not_due");
  });

  it("tells each state that is there to be told", async () => {
    const { task, received, deliverAll, tasks } = await zoneWithReceiver({ agent: asking });
    await deliverAll();
    await tasks.cancel({ principal, taskId: task.id });
    await deliverAll();
    expect(statesOf(received)).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_CANCELED"]);
  });

  it("goes to every receiver of the task, whatever another one does", async () => {
    const other = await startReceiver();
    toClose.push(other.close);
    const { task, received, deliverAll, tasks, store } = await zoneWithReceiver({ agent: asking, answers: [500, 410] });
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

describe("a notification that was not taken", () => {
  it.each<[string, number | (() => Response)]>([
    ["a failure of the receiver", 503],
    ["a receiver that wants less", 429],
    ["a receiver that waited too long", 408],
    [
      "a connection that broke",
      () => {
        throw connectionReset;
      },
    ],
  ])("is sent again after %s, later and later, until it is", async (_what, answer) => {
    const { received, deliverAll } = await zoneWithReceiver({ answers: [answer, answer, answer] });
    const [, , ...delays] = await deliverAll();
    expect(statesOf(received)).toEqual(new Array(4).fill("TASK_STATE_COMPLETED"));
    expect(delays).toEqual([50, 100, 200]);
  });

  it("is sent again where nobody answers in time", async () => {
    const { received, deliverAll } = await zoneWithReceiver({
      answers: [() => silence({ signal: new AbortController().signal })],
      timeoutMs: 100,
    });
    await deliverAll();
    expect(received).toHaveLength(2);
  });

  it("is sent again where nobody listens", async () => {
    const gone = await startReceiver();
    await gone.close();
    const { deliverAll, messages } = await zoneWithReceiver({ config: { url: gone.url } });
    await deliverAll();
    expect(messages().filter((message) => message === "push_delayed")).toHaveLength(7);
    expect(messages().at(-1)).toBe("push_given_up");
  });

  it("waits as long as the receiver asks for", async () => {
    const busy = () => new Response(null, { status: 503, headers: { "retry-after": "120" } });
    const { deliverAll } = await zoneWithReceiver({ answers: [busy] });
    expect(await deliverAll()).toEqual([0, 0, 120_000]);
  });

  it("is given up after eight tries, and the next change is told all the same", async () => {
    const { task, tasks, received, deliverAll, messages } = await zoneWithReceiver({
      agent: asking,
      answers: new Array(8).fill(500),
    });
    await deliverAll();
    expect(received).toHaveLength(8);
    expect(messages().at(-1)).toBe("push_given_up");
    await tasks.cancel({ principal, taskId: task.id });
    await deliverAll();
    expect(statesOf(received.slice(8))).toEqual(["TASK_STATE_CANCELED"]);
  });

  it.each([[400], [401], [403], [404], [410], [422]])(
    "is given up at once where the receiver refuses it: %i",
    async (status) => {
      const { received, deliverAll, lines } = await zoneWithReceiver({ answers: [status] });
      await deliverAll();
      expect(received).toHaveLength(1);
      expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ message: "push_given_up", level: "warn", status });
    },
  );

  it("is not sent where a redirect leads", async () => {
    const elsewhere = await startReceiver();
    toClose.push(elsewhere.close);
    const answers = [301, 302, 303, 307, 308].map(
      (status) => () => new Response(null, { status, headers: { location: elsewhere.url } }),
    );
    for (const answer of answers) {
      const { received, deliverAll, messages } = await zoneWithReceiver({ answers: [answer] });
      await deliverAll();
      expect(received).toHaveLength(1);
      expect(messages().at(-1)).toBe("push_given_up");
    }
    expect(elsewhere.received).toEqual([]);
  });

  it("is not told any more once a newer state is there to be told", async () => {
    const { task, tasks, received, deliverAll, sent, delivery } = await zoneWithReceiver({
      agent: asking,
      answers: [503],
    });
    await delivery.handle({ body: sent.splice(0).at(-1)?.body ?? "", signal });
    await tasks.cancel({ principal, taskId: task.id });
    const late = sent.shift();
    await deliverAll();
    await delivery.handle({ body: late?.body ?? "", signal });
    expect(statesOf(received)).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_CANCELED"]);
  });

  it("does not overtake the one before it, which is still under way", async () => {
    const { promise: open, resolve: letGo } = Promise.withResolvers<void>();
    const { task, tasks, received, sent, delivery } = await zoneWithReceiver({
      agent: asking,
      answers: [
        async () => {
          await open;
          return new Response();
        },
      ],
    });
    const first = delivery.handle({ body: sent.splice(0).at(-1)?.body ?? "", signal });
    await eventually(() => received.length === 1);
    await tasks.cancel({ principal, taskId: task.id });
    const second = delivery.handle({ body: sent.shift()?.body ?? "", signal });
    await new Promise((passed) => setTimeout(passed, 30));
    expect(received).toHaveLength(1);
    letGo();
    await Promise.all([first, second]);
    expect(statesOf(received)).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_CANCELED"]);
  });
});

describe("nobody is asked", () => {
  it("where the configuration was deleted meanwhile", async () => {
    const { task, configs, received, deliverAll } = await zoneWithReceiver();
    await configs.delete({ principal, params: { taskId: task.id, id: "c1" } });
    await deliverAll();
    expect(received).toEqual([]);
  });

  it("where the task is known no more", async () => {
    const { received, sent, lines, delivery } = await zoneWithReceiver();
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
    const { received, deliverAll, lines } = await zoneWithReceiver({
      config: { url: "https://client.example/hook" },
      post: createPublicPost({ resolve }),
    });
    await deliverAll();
    expect(asked).toEqual(["client.example"]);
    expect(received).toEqual([]);
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ message: "push_given_up", reason: "permission_denied" });
  });

  it("where the receiver is this machine and that is not allowed any more", async () => {
    const { received, deliverAll, messages } = await zoneWithReceiver({ allowLoopback: false });
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
    const { deliverAll } = await zoneWithReceiver({
      config: { url: receiver.url.replace("127.0.0.1", "localhost") },
      post: createPublicPost({ resolve, allowLoopback: true }),
    });
    await deliverAll();
    expect(asked).toEqual(["localhost"]);
    expect(receiver.received).toHaveLength(1);
  });
});

describe("a notice comes again", () => {
  it("where the store is away", async () => {
    const inner = memoryStore();
    let isAway = false;
    const store = {
      ...inner,
      async get(request: { id: string }): Promise<ExecutionTask | undefined> {
        if (isAway) throw new Error("hunter2");
        return inner.get(request);
      },
    };
    const { sent, delivery } = await zoneWithReceiver({ store });
    isAway = true;
    const body = sent.at(-1)?.body ?? "";
    await expect(delivery.handle({ body, signal })).rejects.toMatchObject({ reason: "unavailable" });
  });

  it("where another try cannot be queued", async () => {
    const { received, sent, delivery } = await zoneWithReceiver({ answers: [503] });
    const { push } = JSON.parse(sent.at(-1)?.body ?? "");
    sent.push = () => {
      throw new Error("away");
    };
    await expect(delivery.deliver({ ...push, signal })).rejects.toThrow("away");
    await delivery.deliver({ ...push, signal });
    expect(received).toHaveLength(2);
  });

  it("where whoever delivers it has to stop", async () => {
    const caller = new AbortController();
    const { received, sent, delivery } = await zoneWithReceiver({
      answers: [() => silence({ signal: new AbortController().signal })],
    });
    const body = sent.splice(0).at(-1)?.body ?? "";
    const ended = expect(delivery.handle({ body, signal: caller.signal })).rejects.toThrow("enough");
    await eventually(() => received.length === 1);
    caller.abort(new Error("enough"));
    await ended;
    expect(sent).toEqual([]);
  });

  it("where it is none", async () => {
    const { delivery } = createPushZone({ queue: memoryQueue().queue, agent: answering("done") });
    for (const body of ["", "{", "{}", '{"taskId":"t"}', '{"push":{"taskId":"t"}}']) {
      await expect(delivery.handle({ body, signal })).rejects.toThrow();
    }
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
    const { deliverAll, lines } = await zoneWithReceiver({ answers });
    await deliverAll();
    expect(lines.length).toBeGreaterThan(2);
    for (const secret of ["hunter2", "127.0.0.1", "/hook"]) expect(lines.join("")).not.toContain(secret);
  }
});
