/** The delivery of push notifications to real receivers: what arrives, what is sent again, and who is never asked. */
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { planNextPush, waitMs } from "@sekisho/execution/a2a/push-delivery.ts";
import { toA2aTask } from "@sekisho/execution/a2a/view.ts";
import { type ExecutionTask, parseExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import { readExecutionIds } from "@sekisho/execution/tasks/task-message.ts";
import { runQueueLoop } from "@sekisho/runtime/engine/loop.ts";
import { openDatabase } from "@sekisho/runtime/engine/sqlite/database.ts";
import { createSqliteQueue, createSqliteTaskStore } from "@sekisho/runtime/engine/sqlite/engine.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import fc from "fast-check";
import { v03EventSchema } from "../../contracts/a2a/v03/event-schema.ts";
import { silence } from "../../doubles/answers.ts";
import { connectionReset } from "../../doubles/web-server.ts";
import { afterTest, folderOfTest } from "../../tooling/cleanup.ts";
import { answering, eventually, memoryStore, yielding } from "../test-host.ts";
import {
  configOf,
  createPushZone,
  memoryQueue,
  principal,
  secrets,
  startReceiver,
  statesOf,
  zoneWithReceiver,
} from "./push-zone.ts";

const signal = new AbortController().signal;
const asking = yielding({ type: "question", prompt: "Really?" });

describe("a notification", () => {
  it("sends the task in the shape of 1.0, with the receiver's credentials and token", async () => {
    const { task, received, deliverAll } = await zoneWithReceiver();
    await deliverAll();
    expect(received).toHaveLength(1);
    const { target, headers, json } = received[0] ?? {};
    expect(target).toBe("/hook?key=hunter2-query");
    expect(json).toEqual({ task: toA2aTask({ task }) });
    expect(json).toMatchObject({
      task: { id: task.id, status: { state: "TASK_STATE_COMPLETED" } },
    });
    expect(Object.fromEntries(headers ?? [])).toMatchObject({
      "content-type": "application/a2a+json",
      authorization: `Bearer ${secrets.credentials}`,
      "x-a2a-notification-token": secrets.token,
      "a2a-version": "1.0",
    });
  });

  it("sends the bare task in the shape of 0.3 to a receiver of 0.3", async () => {
    const { task, received, deliverAll } = await zoneWithReceiver({ config: { version: "0.3" } });
    await deliverAll();
    const { headers, json } = received[0] ?? {};
    expect(json).toMatchObject({
      kind: "task",
      id: task.id,
      contextId: "c",
      status: { state: "completed" },
    });
    expect(v03EventSchema.parse(json)).toMatchObject({ task: { id: task.id } });
    expect(headers?.get("content-type")).toBe("application/json");
    expect(headers?.get("a2a-version")).toBe("0.3");
  });

  it.each([
    ["the configuration has no authentication", undefined],
    ["the configuration has only a scheme", { scheme: "Bearer", credentials: undefined }],
  ])("sends no authorization header if %s", async (_what, authentication) => {
    const { received, deliverAll } = await zoneWithReceiver({
      config: { token: undefined, authentication },
    });
    await deliverAll();
    expect([...(received[0]?.headers.keys() ?? [])].sort()).toEqual([
      "a2a-version",
      "connection",
      "content-length",
      "content-type",
      "host",
    ]);
  });

  it("sends only the newest state, and drops the notification of a past state", async () => {
    const { received, deliverAll, sent, messages } = await zoneWithReceiver();
    expect(sent).toHaveLength(2);
    await deliverAll();
    expect(statesOf(received)).toEqual(["TASK_STATE_COMPLETED"]);
    expect(messages()).toContain("push_not_due");
  });

  it("sends each state that is current at its delivery", async () => {
    const { task, received, deliverAll, tasks } = await zoneWithReceiver({ agent: asking });
    await deliverAll();
    await tasks.cancel({ principal, taskId: task.id });
    await deliverAll();
    expect(statesOf(received)).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_CANCELED"]);
  });

  it("sends a second question once, even if the notification of the first is late", async () => {
    const { task, received, deliverAll, tasks, running } = await zoneWithReceiver({
      agent: asking,
    });
    // A question of the same millisecond would be told twice.
    await eventually(() => Date.now() > task.changedAtMs);
    await tasks.answer({
      principal,
      taskId: task.id,
      answer: { id: "m2", fingerprint: "f2", text: "yes" },
    });
    await running.waitForEnd(task.id);
    await deliverAll();
    expect(statesOf(received)).toEqual(["TASK_STATE_INPUT_REQUIRED"]);
  });

  it("notifies every receiver of a task, even if another one fails", async () => {
    const other = await startReceiver();
    const { task, received, deliverAll, tasks, store } = await zoneWithReceiver({
      agent: asking,
      answers: [500, 410],
    });
    const second = configOf({ id: "c2", url: other.url });
    await tasks.update({
      ...{ principal, taskId: task.id },
      change: (record) =>
        record.a2a && {
          ...record,
          a2a: { ...record.a2a, pushConfigs: [...(record.a2a.pushConfigs ?? []), second] },
        },
    });
    expect((await store.get({ id: task.id }))?.a2a?.pushConfigs).toHaveLength(2);
    await tasks.cancel({ principal, taskId: task.id });
    await deliverAll();
    expect(statesOf(received)).toEqual(["TASK_STATE_CANCELED", "TASK_STATE_CANCELED"]);
    expect(statesOf(other.received)).toEqual(["TASK_STATE_CANCELED"]);
  });
});

describe("a notification without a receiver", () => {
  it("sends nothing after the configuration was deleted", async () => {
    const { task, configs, received, deliverAll } = await zoneWithReceiver();
    await configs.delete({ principal, params: { taskId: task.id, id: "c1" } });
    await deliverAll();
    expect(received).toEqual([]);
  });

  it("sends nothing about an unknown task", async () => {
    const { received, sent, lines, delivery } = await zoneWithReceiver();
    const { push } = JSON.parse(sent[0]?.body ?? "");
    await delivery.deliver({ ...push, taskId: "2a3bb8fb-7a6f-4f4c-8d5d-0f2f4b1f3e11", signal });
    expect(received).toEqual([]);
    expect(lines.join("")).not.toContain("push_given_up");
  });

  it("sends nothing to a loopback receiver that is no longer allowed", async () => {
    const { received, deliverAll, messages } = await zoneWithReceiver({ allowLoopback: false });
    await deliverAll();
    expect(received).toEqual([]);
    expect(messages().at(-1)).toBe("push_given_up");
  });
});

it("logs neither the receiver of a notification nor its credentials", async () => {
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
    for (const secret of ["hunter2", "127.0.0.1", "/hook"])
      expect(lines.join("")).not.toContain(secret);
  }
});

const nowMs = Date.parse("2026-11-02T10:00:00Z");
const statusOf = (status: number, retryAfter?: string) => ({ status, retryAfter });

function decide(
  outcome: Parameters<typeof planNextPush>[0]["outcome"],
  { attempt = 0, random = (): number => 0 } = {},
) {
  return planNextPush({ outcome, attempt, nowMs, random });
}

describe("a notification", () => {
  it("completes a notification on any status of success", () => {
    for (const status of [200, 201, 202, 204, 299])
      expect(decide(statusOf(status))).toEqual({ next: "done" });
  });

  it("gives up a notification that the receiver refuses or redirects", () => {
    for (const status of [300, 301, 302, 307, 308, 304, 400, 401, 403, 404, 410, 413, 422]) {
      expect(decide(statusOf(status))).toEqual({ next: "over" });
    }
  });

  it("gives up a notification to an address that is not public", () => {
    expect(decide({ reason: "permission_denied" })).toEqual({ next: "over" });
  });

  it("retries a notification after a temporary failure", () => {
    for (const status of [408, 429, 500, 502, 503, 504]) {
      expect(decide(statusOf(status))).toEqual({ next: "again", delayMs: 0 });
    }
    for (const reason of ["unavailable", "invalid_response"])
      expect(decide({ reason })).toMatchObject({ next: "again" });
  });

  it("sends a notification at most eight times, within about ten minutes by default", () => {
    const random = () => 0.999999;
    const delays: number[] = [];
    for (let attempt = 0; ; attempt++) {
      const result = decide(statusOf(503), { attempt, random });
      if (result.next !== "again") break;
      delays.push(result.delayMs);
    }
    expect(delays).toHaveLength(7);
    const total = delays.reduce((sum, ms) => sum + ms, 0);
    expect(total).toBeGreaterThan(9 * 60_000);
    expect(total).toBeLessThan(11 * 60_000);
  });

  it("waits as long as Retry-After says, in seconds or until a date, but at most five minutes", () => {
    expect(decide(statusOf(503, "17"))).toEqual({ next: "again", delayMs: 17_000 });
    expect(decide(statusOf(429, "Mon, 02 Nov 2026 10:00:30 GMT"))).toEqual({
      next: "again",
      delayMs: 30_000,
    });
    expect(decide(statusOf(429, "Mon, 02 Nov 2026 09:00:00 GMT"))).toEqual({
      next: "again",
      delayMs: 0,
    });
    expect(decide(statusOf(503, "86400"))).toEqual({ next: "again", delayMs: 300_000 });
  });

  it("waits a bounded time for any value of Retry-After", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.nat().map(String), fc.date().map(String)),
        fc.nat({ max: 6 }),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (retryAfter, attempt, randomValue) => {
          const result = decide(statusOf(503, retryAfter), { attempt, random: () => randomValue });
          const delayMs = result.next === "again" ? result.delayMs : Number.NaN;
          expect(delayMs).toBeGreaterThanOrEqual(0);
          expect(delayMs).toBeLessThanOrEqual(300_000);
        },
      ),
    );
  });
});

const silentReceiver = () =>
  startReceiver({
    answers: new Array(40).fill(() => silence({ signal: new AbortController().signal })),
  });

/** Notices of finished tasks for each of these addresses, handed to one process all at once. */
async function deliverAtOnce(urls: readonly string[]) {
  const { queue, sent } = memoryQueue();
  const zone = createPushZone({ queue });
  for (const url of urls) await zone.begin({ pushConfigs: [configOf({ url })] });
  const ending = new AbortController();
  const deliver = ({ body }: { body: string }) =>
    zone.delivery.handle({ body, signal: ending.signal });
  const deliveries = sent.splice(0).map(deliver);
  afterTest(async () => {
    ending.abort(new Error("enough"));
    await Promise.allSettled(deliveries);
  });
  return { sent, deliver, lines: zone.lines };
}

describe("a receiver that never answers", () => {
  it("sends a silent receiver at most four notifications at once, and queues others without counting a try", async () => {
    const [tarpit, other] = [await silentReceiver(), await startReceiver()];
    const { sent } = await deliverAtOnce([...new Array(10).fill(tarpit.url), other.url]);
    await eventually(() => sent.length === 6 && other.received.length === 1);
    await eventually(() => tarpit.received.length === 4);
    expect(statesOf(other.received)).toEqual(["TASK_STATE_COMPLETED"]);
    for (const { body, delayMs } of sent) {
      expect(JSON.parse(body).push.attempt).toBe(0);
      expect(delayMs).toBeGreaterThan(200);
    }
  });

  it("limits the notifications of one caller to twelve at once", async () => {
    const tarpits = await Promise.all(new Array(5).fill(0).map(silentReceiver));
    const { sent } = await deliverAtOnce(tarpits.flatMap(({ url }) => new Array(4).fill(url)));
    await eventually(() => sent.length === 8);
    await eventually(() => tarpits.reduce((sum, { received }) => sum + received.length, 0) === 12);
  });
});

it("gives up a notification that finds no place a hundred times, and logs that", async () => {
  const tarpit = await silentReceiver();
  const { sent, deliver, lines } = await deliverAtOnce(new Array(5).fill(tarpit.url));
  await eventually(() => sent.length === 1 && tarpit.received.length === 4);
  let tries = 1;
  for (let notice = sent.shift(); notice !== undefined && tries < 200; notice = sent.shift()) {
    tries += 1;
    await deliver(notice);
  }
  expect(tries).toBe(100);
  expect(tarpit.received).toHaveLength(4);
  const { message, level, reason, attempt } = JSON.parse(lines.at(-1) ?? "");
  expect({ message, level, reason, attempt }).toEqual({
    ...{ message: "push_given_up", level: "warn", reason: "rate_limited", attempt: 0 },
  });
});

it.each([
  [0, 0, 250],
  [10_000, 0, 5000],
  [10_000, 1, 10_000],
  [3_600_000, 1, 60_000],
])(
  "after %i ms and with the random number %d, delays the next attempt by %i ms",
  (ageMs, chance, delayMs) => {
    expect(waitMs({ ageMs, random: () => chance })).toBe(delayMs);
  },
);

describe("a notification that was not accepted", () => {
  it.each<[string, number | (() => Response)]>([
    ["a failure of the receiver", 503],
    [
      "a connection that broke",
      () => {
        throw connectionReset;
      },
    ],
  ])(
    "retries after %s, with growing delays, until the receiver accepts it",
    async (_what, answer) => {
      const { received, deliverAll } = await zoneWithReceiver({
        answers: [answer, answer, answer],
      });
      const [, , ...delays] = await deliverAll();
      expect(statesOf(received)).toEqual(new Array(4).fill("TASK_STATE_COMPLETED"));
      expect(delays).toEqual([50, 100, 200]);
    },
  );

  it("waits as long as the receiver asks", async () => {
    const busy = () => new Response(null, { status: 503, headers: { "retry-after": "120" } });
    const { deliverAll } = await zoneWithReceiver({ answers: [busy] });
    expect(await deliverAll()).toEqual([0, 0, 120_000]);
  });

  it("gives up after eight tries, and still sends the next change", async () => {
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
    "gives up at once if the receiver refuses with %i",
    async (status) => {
      const { received, deliverAll, lines } = await zoneWithReceiver({ answers: [status] });
      await deliverAll();
      expect(received).toHaveLength(1);
      expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
        message: "push_given_up",
        level: "warn",
        status,
      });
    },
  );

  it("drops a retry once a newer state is sent", async () => {
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

  it("waits for the previous notification that is still being sent", async () => {
    const { promise: open, resolve: letGo } = Promise.withResolvers<void>();
    const { task, tasks, received, sent, delivery, deliverAll } = await zoneWithReceiver({
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

  it("does not block the next notification after an interrupted delivery", async () => {
    const caller = new AbortController();
    const { received, sent, delivery } = await zoneWithReceiver({
      agent: asking,
      answers: [() => silence({ signal: new AbortController().signal })],
    });
    const body = sent.splice(0).at(-1)?.body ?? "";
    const rejection = expect(delivery.handle({ body, signal: caller.signal })).rejects.toThrow(
      "enough",
    );
    await eventually(() => received.length === 1);
    caller.abort(new Error("enough"));
    await rejection;
    expect(sent).toEqual([]);
    await delivery.handle({ body, signal });
    expect(statesOf(received)).toEqual(["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_INPUT_REQUIRED"]);
  });
});

describe("a repeated notification", () => {
  it("rejects a queue message while the store is unavailable", async () => {
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
    await expect(delivery.handle({ body, signal })).rejects.toMatchObject({
      reason: "unavailable",
    });
  });

  it("rejects a queue message if its retry cannot be queued, and delivers it again", async () => {
    const { received, sent, delivery } = await zoneWithReceiver({ answers: [503] });
    const { push } = JSON.parse(sent.at(-1)?.body ?? "");
    sent.push = () => {
      throw new Error("away");
    };
    await expect(delivery.deliver({ ...push, signal })).rejects.toThrow("away");
    await delivery.deliver({ ...push, signal });
    expect(received).toHaveLength(2);
  });

  it("rejects a malformed queue message", async () => {
    const { delivery } = createPushZone({ queue: memoryQueue().queue, agent: answering("done") });
    for (const body of ["", "{", "{}", '{"taskId":"t"}', '{"push":{"taskId":"t"}}']) {
      await expect(delivery.handle({ body, signal })).rejects.toThrow();
    }
  });
});

/** What one process does with the file until it ends, without time to finish anything. */
function startProcess({
  file,
  visibilityTimeoutMs,
}: {
  file: string;
  visibilityTimeoutMs: number;
}) {
  const database = openDatabase({ file });
  const queue = createSqliteQueue({ database, name: "notifications" });
  const zone = createPushZone({
    queue,
    store: createSqliteTaskStore({ database, parse: parseExecutionTask }),
  });
  const ending = new AbortController();
  const loop = runQueueLoop({
    consumer: queue,
    handle: ({ body }, signal) => zone.delivery.handle({ body, signal }),
    concurrency: 4,
    visibilityTimeoutMs,
    signal: ending.signal,
    idsOf: readExecutionIds,
    log: silentLog,
    graceMs: 0,
  });
  return {
    ...zone,
    async end() {
      ending.abort();
      await loop;
      await database.close();
    },
  };
}

describe("a notification whose process ended", () => {
  it.each<[string, () => Response | Promise<Response>]>([
    ["between two attempts", () => new Response(null, { status: 503 })],
    ["during an attempt", () => silence({ signal: new AbortController().signal })],
  ])("delivers a notification although its process ended %s", async (_when, answer) => {
    let isBack = false;
    const file = join(folderOfTest(), "execution.db");
    const { url, received } = await startReceiver({
      answers: new Array(8).fill(() => (isBack ? new Response() : answer())),
    });
    const first = startProcess({ file, visibilityTimeoutMs: 300 });
    await first.begin({ pushConfigs: [configOf({ url })] });
    await eventually(() => statesOf(received).includes("TASK_STATE_COMPLETED"));
    await first.end();
    isBack = true;
    const pushCount = received.length;
    const second = startProcess({ file, visibilityTimeoutMs: 30_000 });
    await eventually(() => received.length > pushCount);
    await second.end();
    expect(statesOf(received.slice(pushCount))).toEqual(["TASK_STATE_COMPLETED"]);
  });
});
