/** Push notifications that were not taken: which are sent again, in which order, and which notices come again themselves. */
import { afterEach, describe, expect, it } from "@jest/globals";
import type { ExecutionTask } from "../../../lambdas/execution/tasks/execution-task.ts";
import { createPublicPost } from "../../../lambdas/shared/public-fetch/public-fetch.ts";
import { silence } from "../../doubles/answers.ts";
import { connectionReset } from "../../doubles/web-server.ts";
import { answering, eventually, memoryStore, yielding } from "../test-host.ts";
import { createPushZone, memoryQueue, principal, startReceiver, statesOf, zoneWithReceiver } from "./push-zone.ts";

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
    const { received, deliverAll } = await start({ answers: [answer, answer, answer] });
    const [, , ...delays] = await deliverAll();
    expect(statesOf(received)).toEqual(new Array(4).fill("TASK_STATE_COMPLETED"));
    expect(delays).toEqual([50, 100, 200]);
  });

  it("is sent again where nobody answers in time", async () => {
    const post = createPublicPost({ allowLoopback: true });
    // Only the receiver that is silent is out of time, however busy the machine is.
    const times = [100];
    const { received, deliverAll, messages } = await start({
      answers: [() => silence({ signal: new AbortController().signal })],
      post: (request) => {
        const timeoutMs = times.shift() ?? 20_000;
        return post({ ...request, timeoutMs });
      },
    });
    await deliverAll();
    expect(messages().filter((message) => message === "push_delayed")).toHaveLength(1);
    expect(statesOf(received).at(-1)).toBe("TASK_STATE_COMPLETED");
  });

  it("is sent again where nobody listens", async () => {
    const gone = await startReceiver();
    await gone.close();
    const { deliverAll, messages } = await start({ config: { url: gone.url } });
    await deliverAll();
    expect(messages().filter((message) => message === "push_delayed")).toHaveLength(7);
    expect(messages().at(-1)).toBe("push_given_up");
  });

  it("waits as long as the receiver asks for", async () => {
    const busy = () => new Response(null, { status: 503, headers: { "retry-after": "120" } });
    const { deliverAll } = await start({ answers: [busy] });
    expect(await deliverAll()).toEqual([0, 0, 120_000]);
  });

  it("is given up after eight tries, and the next change is told all the same", async () => {
    const { task, tasks, received, deliverAll, messages } = await start({
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
      const { received, deliverAll, lines } = await start({ answers: [status] });
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
      const { received, deliverAll, messages } = await start({ answers: [answer] });
      await deliverAll();
      expect(received).toHaveLength(1);
      expect(messages().at(-1)).toBe("push_given_up");
    }
    expect(elsewhere.received).toEqual([]);
  });

  it("is not told any more once a newer state is there to be told", async () => {
    const { task, tasks, received, deliverAll, sent, delivery } = await start({
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
    const { task, tasks, received, sent, delivery, deliverAll } = await start({
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
    await delivery.handle({ body: sent.shift()?.body ?? "", signal });
    expect(received).toHaveLength(1);
    expect(sent.map(({ delayMs }) => delayMs)).toEqual([expect.any(Number)]);
    letGo();
    await first;
    await deliverAll();
    expect(statesOf(received)).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_CANCELED"]);
  });

  it("does not hold up the next one where its own delivery had to stop", async () => {
    const caller = new AbortController();
    const { received, sent, delivery } = await start({
      agent: asking,
      answers: [() => silence({ signal: new AbortController().signal })],
    });
    const body = sent.splice(0).at(-1)?.body ?? "";
    const stopped = expect(delivery.handle({ body, signal: caller.signal })).rejects.toThrow("enough");
    await eventually(() => received.length === 1);
    caller.abort(new Error("enough"));
    await stopped;
    await delivery.handle({ body, signal });
    expect(statesOf(received)).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_INPUT_REQUIRED"]);
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
    const { sent, delivery } = await start({ store });
    isAway = true;
    const body = sent.at(-1)?.body ?? "";
    await expect(delivery.handle({ body, signal })).rejects.toMatchObject({ reason: "unavailable" });
  });

  it("where another try cannot be queued", async () => {
    const { received, sent, delivery } = await start({ answers: [503] });
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
    const { received, sent, delivery } = await start({
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
