/**
 * A load run of the aws engine: the worker as it is on Lambda, several times, with DynamoDB, SQS, Slack and the Execution zone in process. The
 * time is virtual: it stands still while messages are handled, and moves to the next due message when none is left. So the counts do not
 * depend on the machine.
 */

import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parseConfig } from "@sekisho/config/load.ts";
import { endingSignal, handleBatch, parseBatch } from "@sekisho/runtime/engine/aws/batch.ts";
import { createSqsQueue } from "@sekisho/runtime/engine/aws/task-queue.ts";
import { createDynamoTaskStore } from "@sekisho/runtime/engine/aws/task-store.ts";
import type { TaskQueue } from "@sekisho/runtime/engine/ports.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { createTrace } from "@sekisho/runtime/telemetry/telemetry.ts";
import { createDestinations } from "@sekisho/verification/destinations.ts";
import { noStoredRules, parseReadableRules } from "@sekisho/verification/gate/rules.ts";
import { createShare } from "@sekisho/verification/slots.ts";
import { toStateBucket } from "@sekisho/verification/task/buckets.ts";
import type { AskMessage } from "@sekisho/verification/task/messages.ts";
import { requestIdOf } from "@sekisho/verification/task/routing.ts";
import { readQueuedIds } from "@sekisho/verification/worker/messages/queued-ids.ts";
import {
  createVerificationWorker,
  openWorkerStores,
} from "@sekisho/verification/worker/verification-worker.ts";
import type { Worker } from "@sekisho/verification/worker/worker.ts";
import { openCountingDynamoDb } from "../../../doubles/aws/counting-dynamodb.ts";
import { noCredentials } from "../../../doubles/aws/no-credentials.ts";
import { createRandom } from "../../kills/plan.ts";
import { bump } from "../counting-engine.ts";
import { type HotKey, openCapacity } from "./capacity.ts";
import { createLoadHost } from "./host.ts";
import { openLoadSlack } from "./slack.ts";
import { openVirtualSqs } from "./virtual-sqs.ts";

export type AwsLoadOptions = {
  tasks: number;
  seed: number;
  /** So many workers share the queue, each with caches of its own, as the instances of a function do. */
  workers?: number;
  onProgress?: (progress: AwsProgress) => void;
  signal?: AbortSignal;
};

export type AwsProgress = {
  virtualSeconds: number;
  asked: number;
  waiting: number;
  ended: number;
  messages: number;
};

export type AwsLoadReport = {
  tasks: number;
  /** How the promise was broken, a line each. */
  problems: string[];
  mostWaiting: number;
  /** Calls of all tasks, by service and operation. */
  calls: Record<string, number>;
  polls: number;
  hotKeys: HotKey[];
  totals: { place: string; writes: number; reads: number }[];
  /** The heap after collection. The doubles keep their state outside of it. */
  heap: { waiting: number; bytes: number }[];
};

/** A person's and a channel's quota are on, because they count in the table. */
const config = parseConfig({
  json: {
    slack: { locale: "en" },
    destinations: { host: { transport: "https", url: "http://127.0.0.1:1/" } },
    routes: [{ destination: "host" }],
    limits: { perUser: { tasks: 100, atOnce: 50 }, perChannel: { tasks: 500 } },
  },
});

const startMs = Date.UTC(2026, 10, 23, 9);
/** All tasks are asked in this time, whatever their number. Then they wait together, until all end at once. */
const askForMs = 60_000;
const endAfterMs = 90_000;
const tickMs = 250;
/** The worker's on Lambda: its lease and 15 s. */
const functionTimeoutMs = config.limits.leaseMs + 15_000;

const appId = "A0LOAD0001";
/** Enough that no person, channel or workspace has more tasks at 100,000 than at 1,000. */
const tasksOf = { user: 5, channel: 20, team: 500 };

/** Rejects if it is aborted. */
export async function runAwsLoad(options: AwsLoadOptions): Promise<AwsLoadReport> {
  const { tasks, seed, workers: workerCount = 8, onProgress = () => {}, signal } = options;
  const random = createRandom({ seed }).next;
  let nowMs = startMs;
  const now = () => nowMs;
  const calls: Record<string, number> = {};
  const count = (name: string) => bump(calls, name);
  let [askedTasks, accepted, ending, polls, messages, mostWaiting] = [0, 0, 0, 0, 0, 0];
  const waiting = () => accepted - ending;
  const failures: string[] = [];

  const capacity = openCapacity();
  const dynamo = openCountingDynamoDb({ hasPrincipals: true, onUse: capacity.use });
  const sqs = openVirtualSqs({ now, onSend: () => count("sqs:SendMessage") });
  let posts = 0;
  const slack = openLoadSlack({
    newTs() {
      posts += 1;
      return formatTs({ ms: nowMs, number: tasks + posts });
    },
    onCall: (method) => count(`slack:${method}`),
  });
  const host = createLoadHost({
    hasEnded: () => nowMs >= startMs + endAfterMs,
    onCall({ method, isResult }) {
      count(`host:${method}`);
      if (method === "execute_task") accepted += 1;
      else polls += 1;
      if (isResult) ending += 1;
    },
  });
  const client: typeof dynamo.client = {
    call(operation, input, limits) {
      count(`dynamodb:${operation}`);
      return dynamo.client.call(operation, input, limits);
    },
  };
  const queue = createSqsQueue({ client: sqs.client, queueUrl: "https://sqs.example/queue", now });
  const stores = () =>
    openWorkerStores((parse) =>
      createDynamoTaskStore({ client, table: "tasks", parse, bucketOf: toStateBucket, now }),
    );

  function bootWorker(): Worker {
    const destinations = createDestinations({
      config,
      readSecret: async () => "",
      botTokenOf: async () => "",
      credentials: noCredentials,
      log: silentLog,
      wrap: () => host,
    });
    const files = {
      transfers: createShare({ max: 3 }),
      importFurtherFiles: async () => ({ attachments: [], leftOut: [] }),
      importAttachments: async () => [],
      isFetched: () => false,
      upload: () => Promise.reject(new Error("there are no files")),
    };
    const engine = { ...stores(), queue };
    return createVerificationWorker({
      config,
      engine,
      slack: slack.api,
      files,
      destinations,
      log: silentLog,
      now,
      random,
    });
  }

  async function allowEveryone(): Promise<void> {
    const store = createDynamoTaskStore({
      client: dynamo.client,
      table: "tasks",
      parse: parseReadableRules,
      bucketOf: toStateBucket,
      now,
    });
    const teams = Array.from({ length: Math.ceil(tasks / tasksOf.team) }, (_, number) => ({
      number: number + 1,
      rule: { team: idOf("T", number) },
      addedAtMs: nowMs,
    }));
    await store.create({ item: { ...noStoredRules(), lastNumber: teams.length, rules: teams } });
  }

  /** Handles everything that is due. Each worker takes one batch at a time, as an instance of a function does. Which one is chance. */
  async function handleDue(workers: readonly Worker[]): Promise<void> {
    for (;;) {
      signal?.throwIfAborted();
      const batches = workers.map(() => sqs.takeBatch()).filter((batch) => batch.length > 0);
      if (batches.length === 0) return;
      const first = Math.floor(random() * workers.length);
      await Promise.all(
        batches.map(async (records, number) => {
          messages += records.length;
          const worker = workers[(first + number) % workers.length];
          const { signal, end } = endingSignal({
            context: { getRemainingTimeInMillis: () => functionTimeoutMs },
          });
          await handleBatch({
            batch: parseBatch({ Records: records }),
            handle: async ({ body }) => worker?.handle({ body, signal }),
            onFailure: async (_record, reason) =>
              void failures.push(`a message failed: ${String(reason)}`),
            queue,
            idsOf: readQueuedIds,
            log: silentLog,
            now,
          });
          end();
        }),
      );
      mostWaiting = Math.max(mostWaiting, waiting());
      await turn();
    }
  }

  try {
    await allowEveryone();
    const workers = Array.from({ length: workerCount }, bootWorker);
    const heap: AwsLoadReport["heap"] = [];
    const collect = exposedCollection();
    const measureHeap = () => {
      collect();
      heap.push({ waiting: waiting(), bytes: process.memoryUsage().heapUsed });
    };
    for (let progressAt = 0; ; ) {
      const due = Math.min(tasks, Math.ceil((tasks * (nowMs - startMs)) / askForMs));
      for (; askedTasks < due; askedTasks += 1)
        await queue.send(askOf({ number: askedTasks, tasks, nowMs }));
      await handleDue(workers);
      if (heap.length === 0 && waiting() >= tasks / 10) measureHeap();
      if (heap.length === 1 && waiting() === tasks) measureHeap();
      if (messages >= progressAt) {
        onProgress({
          virtualSeconds: Math.round((nowMs - startMs) / 1000),
          asked: askedTasks,
          waiting: waiting(),
          ended: ending,
          messages,
        });
        progressAt = messages + 50_000;
      }
      const nextMs = sqs.nextDueMs();
      if (askedTasks === tasks && nextMs === undefined) break;
      nowMs = askedTasks < tasks ? nowMs + tickMs : Math.max(nowMs, nextMs ?? 0);
    }
    measureHeap();
    const problems = [
      ...failures.slice(0, 10),
      ...(mostWaiting === tasks ? [] : [`${mostWaiting} of ${tasks} tasks waited together`]),
      ...(slack.answered() === tasks && slack.posts() === tasks
        ? []
        : [`${slack.answered()} of ${tasks} tasks are answered, in ${slack.posts()} posts`]),
    ];
    const report = { tasks, problems, mostWaiting, calls, polls, heap };
    return { ...report, hotKeys: capacity.hotKeys(), totals: capacity.totals() };
  } finally {
    for (const part of [capacity, dynamo, sqs, slack]) part.close();
  }
}

/** The message that the ingress makes of an event, in a thread of its own. */
function askOf({
  number,
  tasks,
  nowMs,
}: {
  number: number;
  tasks: number;
  nowMs: number;
}): Parameters<TaskQueue["send"]>[0] {
  const place = (each: number) => number % Math.ceil(tasks / each);
  const team = idOf("T", place(tasksOf.team));
  const channel = idOf("C", place(tasksOf.channel));
  const user = idOf("U", place(tasksOf.user));
  const ts = formatTs({ ms: nowMs, number });
  const text = `What is the state of order ${number}?`;
  const message: AskMessage = {
    type: "ask",
    requestId: requestIdOf({ appId, channel, ts }),
    receivedAtMs: nowMs,
    trace: createTrace({ sampleRatio: 1 }),
    message: { appId, team, channel, user, ts, direct: false, text },
  };
  return { body: JSON.stringify(message), group: team };
}

function idOf(letter: string, number: number): string {
  return `${letter}0${String(number).padStart(8, "0")}`;
}

/** Unique for each number below a million. */
function formatTs({ ms, number }: { ms: number; number: number }): string {
  return `${Math.floor(ms / 1000)}.${String(number % 1_000_000).padStart(6, "0")}`;
}

/** A collection of garbage, which Node offers only with a flag. */
function exposedCollection(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  return () => {
    collect();
    collect();
  };
}
