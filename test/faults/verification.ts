/** The Verification zone: what takes Slack's events, and what moves the tasks. */

import { runQueueLoop } from "../../lambdas/shared/engine/loop.ts";
import type { TaskStore } from "../../lambdas/shared/engine/ports.ts";
import { createDestinations } from "../../lambdas/verification/destinations.ts";
import { createIngress, type Ingress } from "../../lambdas/verification/ingress/ingress.ts";
import { createKeptSecret } from "../../lambdas/verification/kept-secret.ts";
import { createPolicy } from "../../lambdas/verification/policy.ts";
import { createAnswerText } from "../../lambdas/verification/slack/answer-text.ts";
import type { SlackApi } from "../../lambdas/verification/slack/slack.ts";
import { type Task, taskSchema } from "../../lambdas/verification/task/task.ts";
import { createRunAct } from "../../lambdas/verification/worker/acts.ts";
import { batchOf, handleBatch, type SqsRecord } from "../../lambdas/verification/worker/batch.ts";
import { endingSignal } from "../../lambdas/verification/worker/invocation.ts";
import { retryDelaySeconds } from "../../lambdas/verification/worker/retry-later.ts";
import { createWorker, type Worker } from "../../lambdas/verification/worker/worker.ts";
import { consume, type Handler } from "./event-source.ts";
import type { Execution } from "./execution.ts";
import { createLoopConsumer } from "./loop-consumer.ts";
import { createPool, type Pool } from "./pool.ts";
import { type Process, within } from "./processes.ts";
import { configOf, secrets } from "./settings.ts";
import { createSimQueue, type SimQueue } from "./sim-queue.ts";
import { createSimStore } from "./sim-store.ts";
import { createSimTransport } from "./sim-transport.ts";
import { logOf, type World } from "./world.ts";

export type Verification = {
  ingresses: Pool<Ingress>;
  records: TaskStore<Task>;
  queue: SimQueue;
  deadLetters: SimQueue;
  /** What was kept for an operator. */
  archive: SimQueue;
};

/** As the stack has it: the lease and 15 s, and six times that until a message comes again. */
const beyondLeaseMs = 15_000;

export function createVerification({
  world,
  slack,
  execution,
  skewMs,
}: {
  world: World;
  slack: SlackApi;
  execution: Execution;
  skewMs: number;
}): Verification {
  const config = configOf(world.story);
  const { leaseMs, maxReceiveCount, visibilityTimeoutMs, concurrency } = config.limits;
  const { newId, engine } = world;
  const { store, records } = createSimStore({ world, party: "store", parse: (json) => taskSchema.parse(json) });
  const archive = createSimQueue({ world, point: "queue.send" });
  const deadLetters = createSimQueue({ world, point: "queue.send" });
  const queue = createSimQueue({ world, point: "queue.send", deadLetters, maxReceiveCount });
  const log = logOf({ world, service: "verification" });
  const answerText = createAnswerText({ locale: config.slack.locale });

  function bootWorker(): Worker {
    const destinations = createDestinations({
      config,
      handle: () => Promise.reject(new Error("nothing is called past the simulated transport")),
      readSecret: async () => secrets.botToken,
      log,
      wrap: () => createSimTransport({ world, hosts: execution.hosts }),
    });
    const runAct = createRunAct({ slack, destinations, answerText, newId });
    return createWorker({ store, queue: queue.sender, policy: createPolicy({ config }), runAct, leaseMs, log, newId });
  }

  function bootIngress(): Ingress {
    const signingSecret = createKeptSecret({ readSecret: async () => secrets.signingSecret });
    return createIngress({ signingSecret, queue: queue.sender, log });
  }

  /** One process does everything, as on one machine. */
  function bootEverything(process: Process): Ingress {
    return within({
      process,
      run() {
        const worker = bootWorker();
        const loop = { visibilityTimeoutMs, signal: new AbortController().signal, log };
        void runQueueLoop({
          ...loop,
          consumer: createLoopConsumer({ world, queue }),
          handle: ({ body }, signal) => worker.handle({ body, signal }),
          concurrency,
        });
        void runQueueLoop({
          ...loop,
          consumer: createLoopConsumer({ world, queue: deadLetters }),
          handle: ({ body }, signal) => worker.deadLetter({ body, signal }),
          concurrency: 1,
        });
        return bootIngress();
      },
    });
  }

  /** As the functions on AWS have it (lambda.ts and dead-letter-lambda.ts). */
  function createHandler(
    handle: (request: { worker: Worker; record: SqsRecord; signal: AbortSignal }) => Promise<void>,
  ) {
    return (from: SimQueue) => (): Handler => {
      const worker = bootWorker();
      return async ({ event, context, deliveries }) => {
        const { signal, done } = endingSignal({ context });
        const response = await handleBatch({
          batch: batchOf(event),
          handle: (record) => handle({ worker, record, signal }),
          failed: async ({ messageId, receiveCount }) => {
            const delivery = deliveries.get(messageId);
            if (delivery !== undefined && from === queue)
              from.hideFor({ delivery, ms: 1000 * retryDelaySeconds({ receiveCount }) });
          },
          queue: queue.sender,
          log,
        });
        done();
        return response;
      };
    };
  }

  function startFunctions(): void {
    const work = createHandler(({ worker, record, signal }) => worker.handle({ body: record.body, signal }));
    const bury = createHandler(({ worker, record: { body, group }, signal }) => {
      const keep = () => archive.sender.send({ body, ...(group === undefined ? {} : { group }) });
      return worker.deadLetter({ body, signal, keep });
    });
    for (const [name, from, handler] of [
      ["worker ", queue, work],
      ["undertaker ", deadLetters, bury],
    ] as const) {
      let pump = () => {};
      const onStart = () => pump();
      const pool = createPool({ name, zone: "verification", skewMs, size: 2, boot: handler(from), onStart });
      const timeLimitMs = leaseMs + beyondLeaseMs;
      pump = consume({ world, queue: from, name: "queue", pool, visibilityTimeoutMs: 6 * timeLimitMs, timeLimitMs });
    }
  }

  const isOne = engine.isOneProcess;
  const ingresses = createPool<Ingress>({
    name: isOne ? "verification " : "ingress ",
    zone: "verification",
    skewMs,
    size: isOne ? 1 : 2,
    boot: isOne ? bootEverything : bootIngress,
  });
  if (!isOne) startFunctions();
  return { ingresses, records, queue, deadLetters, archive };
}
