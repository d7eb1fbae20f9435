/** Tasks with push configurations over a store and a queue, and a receiver of their notifications on loopback. */
import { randomUUID } from "node:crypto";
import type { A2aTask } from "@sekisho/contracts/a2a/task.ts";
import { createPushConfigs } from "@sekisho/execution/a2a/push-configs.ts";
import { createPushDelivery } from "@sekisho/execution/a2a/push-delivery.ts";
import { createHandleLook, createPushOutbox } from "@sekisho/execution/a2a/push-outbox.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createAdvanceIfDue, createRuns } from "@sekisho/execution/runs/runs.ts";
import type { ExecutionTask, StoredPushConfig } from "@sekisho/execution/tasks/execution-task.ts";
import { createChangeTask, createTaskSignal } from "@sekisho/execution/tasks/task-store.ts";
import { createTasks } from "@sekisho/execution/tasks/tasks.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import type { PublicPost } from "@sekisho/runtime/public-fetch/public-fetch.ts";
import { noMetrics, noSpans } from "@sekisho/runtime/telemetry/telemetry.ts";
import { collectLog } from "../../doubles/collect-log.ts";
import { startWebServer } from "../../doubles/web-server.ts";
import { afterTest } from "../../tooling/cleanup.ts";
import { answering, memoryStore } from "../test-host.ts";

export const principal = "caller";
export const secrets = { token: "hunter2-token", credentials: "hunter2-credentials" };

type Received = { target: string; headers: Headers; json: unknown };
type Answer = number | (() => Response | Promise<Response>);

/** Answers with `answers` in turn, a status or whatever a server may do, and then with 200. Closed after the test. */
export async function startReceiver({ answers = [] }: { answers?: Answer[] } = {}) {
  const pushes: Received[] = [];
  const { url, close } = await startWebServer({
    async handle({ request, target, body }) {
      const answer = answers[pushes.length] ?? 200;
      pushes.push({
        target,
        headers: request.headers,
        json: JSON.parse(Buffer.from(body).toString()),
      });
      return typeof answer === "number" ? new Response(null, { status: answer }) : answer();
    },
  });
  afterTest(close);
  return { url: `${url}/hook?key=hunter2-query`, received: pushes, close };
}

/** Keeps what was sent until it is taken, the looks at tasks apart. */
export function memoryQueue() {
  const sentMessages: { body: string; delayMs: number }[] = [];
  const looks: { body: string; delayMs: number }[] = [];
  const queue: TaskQueue = {
    send: async ({ body, delayMs = 0 }) =>
      void ("look" in JSON.parse(body) ? looks : sentMessages).push({ body, delayMs }),
  };
  return { queue, sent: sentMessages, looks };
}

export function configOf({
  url,
  ...otherFields
}: Partial<StoredPushConfig> & { url: string }): StoredPushConfig {
  const { token, credentials } = secrets;
  return {
    id: "c1",
    url,
    token,
    authentication: { scheme: "Bearer", credentials },
    version: "1.0",
    ...otherFields,
  };
}

/** What of a notification says which state it tells. */
export function statesOf(pushes: readonly Received[]): unknown[] {
  return pushes.map(({ json }) => (json as { task: A2aTask }).task.status.state);
}

type ZoneOptions = Omit<Parameters<typeof createPushZone>[0], "queue">;

/** A zone and the receiver of its only task, which has run; its notices wait in the queue. */
export async function zoneWithReceiver({
  answers = [],
  config = {},
  ...options
}: ZoneOptions & { answers?: Answer[]; config?: Partial<StoredPushConfig> } = {}) {
  const receiver = await startReceiver({ answers });
  const { queue, sent, looks } = memoryQueue();
  const zone = createPushZone({ queue, ...options });
  const task = await zone.begin({ pushConfigs: [configOf({ url: receiver.url, ...config })] });
  /** Delivers what waits, in order and without its delays, until nothing does. */
  async function deliverAll(): Promise<number[]> {
    const delays: number[] = [];
    for (let message = sent.shift(); message !== undefined; message = sent.shift()) {
      delays.push(message.delayMs);
      await zone.delivery.handle({ body: message.body, signal: new AbortController().signal });
    }
    return delays;
  }
  const messages = () => zone.lines.map((line) => JSON.parse(line).message as string);
  return { ...zone, ...receiver, sent, looks, task, deliverAll, messages };
}

export function createPushZone({
  agent = answering("done"),
  queue,
  store = memoryStore(),
  supported: isSupported = true,
  allowLoopback = true,
  post,
  timeoutMs = 5000,
}: {
  agent?: Agent;
  queue: TaskQueue;
  store?: ReturnType<typeof memoryStore>;
  supported?: boolean;
  allowLoopback?: boolean;
  post?: PublicPost;
  timeoutMs?: number;
}) {
  const { lines, log } = collectLog({ service: "execution", level: "debug" });
  const changeSignal = createTaskSignal();
  const clock = { now: Date.now, newId: randomUUID, random: Math.random };
  const times = {
    leaseMs: 5000,
    renewMs: 2500,
    lostAfterMs: 5000,
    retentionMs: 120_000,
    progressMs: 1,
    questionMs: 120_000,
    storeTimeoutMs: 1000,
  };
  const outbox = createPushOutbox({ ...clock, ...times, queue, timeoutMs: 200, log });
  const changeTask = outbox.wrapChangeTask(
    createChangeTask({ store, changeSignal, now: clock.now }),
  );
  const common = {
    ...clock,
    ...times,
    changeTask,
    changeSignal,
    metrics: noMetrics,
    spans: noSpans,
    log,
  };
  const runs = createRuns({ ...common, agent, agentName: "agent" });
  const advanceIfDue = createAdvanceIfDue({ ...common, runs });
  const tasks = createTasks({
    ...common,
    store: outbox.wrapStore(store),
    runs,
    advanceIfDue,
    maxTaskMs: 60_000,
    isStopped: () => false,
  });
  return {
    lines,
    store,
    tasks,
    configs: createPushConfigs({
      tasks,
      outbox: isSupported ? outbox : undefined,
      allowLoopback,
      newId: () => "new-id",
    }),
    advanceIfDue,
    delivery: createPushDelivery({
      look: createHandleLook({ store, advanceIfDue, outbox }),
      ...{ store, queue, allowLoopback, timeoutMs, log },
      random: () => 0.01,
      ...(post && { post }),
    }),
    /** Resolves to the task when its run is over. */
    async begin({
      pushConfigs,
    }: {
      pushConfigs?: StoredPushConfig[];
    } = {}): Promise<ExecutionTask> {
      const messageId = randomUUID();
      const task = await tasks.submit({
        ...{
          principal,
          taskId: randomUUID(),
          requestId: messageId,
          fingerprint: "f",
          input: { text: "hello" },
        },
        trace: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" },
        receivedAtMs: Date.now(),
        a2a: {
          contextId: "c",
          message: { messageId, role: "ROLE_USER", parts: [{ text: "hello" }] },
          pushConfigs,
        },
      });
      await runs.waitForEnd(task.id);
      return (await store.get({ id: task.id })) ?? task;
    },
    running: runs,
  };
}
