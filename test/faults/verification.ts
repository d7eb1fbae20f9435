/** The Verification zone: what takes Slack's events, and what moves the tasks. */

import type { Config } from "@sekisho/config/schema.ts";
import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import {
  endingSignal,
  handleBatch,
  parseBatch,
  retryDelaySeconds,
  type SqsRecord,
} from "@sekisho/runtime/engine/aws/batch.ts";
import { runQueueLoop } from "@sekisho/runtime/engine/loop.ts";
import type { QueueConsumer, TaskItem, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { type FormerEntry, parseFormerEntry } from "@sekisho/sekisho/usage/former-history.ts";
import type { Usage } from "@sekisho/verification/gate/quotas.ts";
import type { RefusalRecord } from "@sekisho/verification/gate/refusals.ts";
import type { Ingress } from "@sekisho/verification/ingress/ingress.ts";
import type { SlackApi } from "@sekisho/verification/slack/api/slack.ts";
import type { Task } from "@sekisho/verification/task/task.ts";
import type { Thread } from "@sekisho/verification/task/thread.ts";
import { readQueuedIds } from "@sekisho/verification/worker/messages/queued-ids.ts";
import type { Worker } from "@sekisho/verification/worker/worker.ts";
import type { ZoneSecret } from "@sekisho/verification/zone-secret.ts";
import { noCredentials } from "../doubles/aws/no-credentials.ts";
import { oneByOne } from "../doubles/one-by-one.ts";
import { createSimTokens, tellAsker } from "./askers.ts";
import { consume, type Handler, type Source } from "./event-source.ts";
import type { Execution } from "./execution.ts";
import { operate } from "./operate.ts";
import { createPool, type Pool } from "./pool.ts";
import { within } from "./processes.ts";
import { configOf, secrets } from "./settings.ts";
import { createSimFiles } from "./sim-files.ts";
import { createSimQueue, type Delivery, type SimQueue } from "./sim-queue.ts";
import { codecOf, createSimStore } from "./sim-store.ts";
import { createSimTransport } from "./sim-transport.ts";
import type { ZoneParts } from "./verification-parts.ts";
import {
  createTurns,
  newestProduct,
  type Product,
  slackFor,
  transportFor,
} from "./versions/mix.ts";
import { worldMs } from "./virtual-time.ts";
import type { World } from "./world.ts";

export type Verification = {
  ingresses: Pool<Ingress>;
  records: TaskStore<Task>;
  /** Entries of version 1.0.0, with which a moment of it begins. */
  formerHistory: TaskStore<FormerEntry>;
  queues: readonly SimQueue[];
};

export function createVerification({
  world,
  slack,
  zones,
  completions,
  skewMs,
}: {
  world: World;
  slack: SlackApi;
  /** By the name of the destination; a zone that is away is not there. */
  zones: ReadonlyMap<string, Execution>;
  /** Receives the completion pushes. */
  completions: SimQueue;
  skewMs: number;
}): Verification {
  const config = configOf(world.story, world.engine);
  const { maxReceiveCount } = config.limits;
  const { newId } = world;
  const tasks = createSimStore<Task>({
    world,
    party: "store",
    name: "tasks",
    onWritten: (task) => noteEnd(world, task),
  });
  const threads = createSimStore<Thread>({
    world,
    party: "store",
    name: "threads",
    onWritten: ({ tasks }) => noteTurns({ world, tasks }),
  });
  const history = createSimStore<FormerEntry>({ world, party: "store", name: "history" });
  const refusals = createSimStore<RefusalRecord>({ world, party: "store", name: "refusals" });
  const usages = createSimStore<Usage>({ world, party: "store", name: "usages" });
  const secretStores = createSimStore<ZoneSecret>({ world, party: "store", name: "secrets" });
  const deadLetters = createSimQueue({
    world,
    name: "dead letters",
    point: "queue.send",
    label: "dead ",
  });
  const queue = createSimQueue({
    world,
    name: "queue",
    point: "queue.send",
    deadLetters,
    maxReceiveCount,
  });
  const { log } = world.leaks;

  function createWorker(product: Product, config: Config): Worker {
    const codec = <T extends TaskItem>(parse: (json: unknown) => T) => codecOf({ product, parse });
    const store = tasks.storeFor(codec(product.parseTask));
    const threadStore = threads.storeFor(codec(product.parseThread));
    const kinds = { "thread:": threadStore };
    const ownSlack = slackFor({ product, slack });
    const askerTokens = world.story.isTold && createSimTokens({ world });
    const destinations = product.createDestinations({
      config,
      ...(askerTokens && { askerTokens }),
      handle: () => Promise.reject(new Error("nothing is called past the simulated transport")),
      readSecret: async () => secrets.botToken,
      botTokenOf: async () => secrets.botToken,
      credentials: noCredentials,
      log,
      wrap({ name }) {
        const transport = createSimTransport({ world, name, hosts: zones.get(name)?.hosts });
        return transportFor({
          product,
          transport: askerTokens
            ? tellAsker({ name, config, tokens: askerTokens, transport })
            : transport,
        });
      },
    });
    return product.createVerificationWorker({
      engine: {
        store: { ...store, ...oneByOne({ kinds, rest: store }) },
        threadStore,
        secretStore: secretStores.storeFor(codec(product.parseZoneSecret)),
        // The allowlist is the configuration's alone.
        ruleStore: { get: async () => undefined },
        usageStore: usages.storeFor(codec(product.parseUsage)),
        refusalStore: refusals.storeFor(codec(product.parseRefusalRecord)),
        queue: queue.sender,
      },
      policy: product.createPolicy({ config }),
      slack: ownSlack,
      files: createSimFiles({ world, slack: ownSlack }),
      text: product.createTaskText({ locale: "en", feedback: true }),
      destinations,
      config,
      log,
      newId,
      newSecret: () => `${newId()}${newId()}`,
    });
  }

  const parts: ZoneParts = {
    world,
    config,
    skewMs,
    log,
    queue,
    deadLetters,
    completions,
    bootWorker() {
      const create = (product: Product) => createWorker(product, config);
      const former = createTurns({ world, part: "worker", create });
      const { routeMovesAfterMs } = world.story;
      const moved =
        routeMovesAfterMs === undefined
          ? former
          : createTurns({
              ...{ world, part: "worker" },
              create: (product) =>
                createWorker(product, configOf(world.story, { ...world.engine, hasMoved: true })),
            });
      // A function makes its worker anew when the live settings change, and a machine is started anew.
      const worker = () =>
        worldMs() < world.startMs + (routeMovesAfterMs ?? 0) ? former() : moved();
      return {
        handle: (request) => worker().handle(request),
        deadLetter: (request) => worker().deadLetter(request),
        completion: (request) => worker().completion(request),
      };
    },
    bootIngress() {
      const signingSecret = createCachedSecret({ readSecret: async () => secrets.signingSecret });
      const createOne = (product: Product) =>
        product.createIngress({ signingSecret, queue: queue.sender, log });
      const ingress = createTurns({ world, part: "ingress", create: createOne });
      return (request) => ingress()(request);
    },
  };
  const ingresses = world.engine.isOneProcess ? startProcess(parts) : startFunctions(parts);
  const product = newestProduct(world);
  return {
    ingresses,
    records: tasks.recordsFor(codecOf({ product, parse: product.parseTask })),
    formerHistory: history.recordsFor(codecOf({ product, parse: parseFormerEntry })),
    queues: [queue, deadLetters, completions],
  };
}

function noteEnd({ endedAtMs }: World, { id, state }: Task): void {
  if ((state === "delivering" || state === "done") && !endedAtMs.has(id))
    endedAtMs.set(id, worldMs());
}

function noteTurns({
  world: { turns },
  tasks,
}: {
  world: World;
  tasks: readonly { id: string; begun: boolean }[];
}): void {
  for (const { id, begun } of tasks) {
    const turn = turns.get(id) ?? { linedUpMs: worldMs(), begunMs: Number.POSITIVE_INFINITY };
    turns.set(id, begun ? { ...turn, begunMs: Math.min(turn.begunMs, worldMs()) } : turn);
  }
}

const maxCompletionReceives = 3;

function startProcess(parts: ZoneParts): Pool<Ingress> {
  const { world, config, skewMs, log, queue, deadLetters, completions, bootWorker, bootIngress } =
    parts;
  const { visibilityTimeoutMs, concurrency } = config.limits;

  function boot(): Ingress {
    const worker = bootWorker();
    const loop = {
      visibilityTimeoutMs,
      signal: new AbortController().signal,
      idsOf: readQueuedIds,
      log,
    };
    void runQueueLoop({
      ...loop,
      consumer: createLoopConsumer({ world, queue, name: "queue" }),
      handle: ({ body }, signal) => worker.handle({ body, signal }),
      concurrency,
    });
    void runQueueLoop({
      ...loop,
      consumer: createLoopConsumer({ world, queue: deadLetters, name: "queue" }),
      handle: ({ body }, signal) => worker.deadLetter({ body, signal }),
      concurrency: 1,
    });
    void runQueueLoop({
      ...loop,
      consumer: createLoopConsumer({ world, queue: completions, name: "push" }),
      handle: async ({ body, receiveCount }, signal) => {
        await worker.completion({ body, signal }).catch((error: unknown) => {
          if (receiveCount < maxCompletionReceives) throw error;
        });
      },
      concurrency: 2,
    });
    return bootIngress();
  }

  return createPool<Ingress>({
    world,
    name: "verification ",
    zone: "verification",
    skewMs,
    size: 1,
    boot: (process) => within({ process, run: boot }),
  });
}

const times = { usualMs: 2, giveUpMs: 3000, landMs: 5000 };
const outOfReach = () => new Error("the queue is out of reach");
const failures = { refused: outOfReach, unknown: outOfReach };

function createLoopConsumer({
  world,
  queue,
  name,
}: {
  world: World;
  queue: SimQueue;
  name: "queue" | "push";
}): QueueConsumer {
  const options = new Map<string, Delivery>();
  let ring = () => {};
  queue.listen(() => ring());

  async function dueOrAborted(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    ring = resolve;
    signal?.addEventListener("abort", () => resolve(), { once: true });
    if (!queue.isDue()) await promise;
  }

  return {
    async receive({ max, visibilityTimeoutMs, signal }) {
      while (!signal?.aborted) {
        await dueOrAborted(signal);
        const effect = () => queue.take({ max, visibilityTimeoutMs });
        const about = () => queue.first();
        const deliveries = await operate({
          world,
          point: `${name}.deliver`,
          about,
          times,
          failures,
          effect,
        });
        if (deliveries.length > 0) return deliveries.map(requests);
      }
      return [];
    },
    async finish({ receipt }) {
      const delivery = options.get(receipt);
      const about = () => (delivery === undefined ? "nothing" : queue.describe(delivery.message));
      const effect = () => delivery !== undefined && queue.remove(delivery);
      return operate({ world, point: `${name}.finish`, about, times, failures, effect });
    },
  };

  function requests(delivery: Delivery) {
    const { message, receiveCount } = delivery;
    const receipt = `${message.number}.${receiveCount}`;
    options.set(receipt, delivery);
    return { body: message.body, receipt, receiveCount, sentAtMs: message.sentAtMs };
  }
}

/** As the stack has it: the lease and 15 s, and six times that until a message comes again. */
const beyondLeaseMs = 15_000;

type Handle = (request: {
  worker: Worker;
  record: SqsRecord;
  signal: AbortSignal;
}) => Promise<void>;

function startFunctions(parts: ZoneParts): Pool<Ingress> {
  const { world, config, skewMs, log, queue, deadLetters, completions, bootWorker, bootIngress } =
    parts;
  const archive = createSimQueue({
    world,
    name: "archive",
    point: "queue.send",
    label: "archived ",
  });
  const zone = { world, zone: "verification", skewMs, size: 2 } as const;
  const timeLimitMs = config.limits.leaseMs + beyondLeaseMs;
  const isOwn = ({ eventSourceARN }: SqsRecord) => eventSourceARN === "queue";

  function createHandler(handle: Handle): Handler {
    const worker = bootWorker();
    return async ({ event, context, deliveries }) => {
      const { signal, end } = endingSignal({ context });
      const response = await handleBatch({
        batch: parseBatch(event).map((record) =>
          isOwn(record) ? record : { ...record, messageAttributes: {} },
        ),
        handle: (record) => handle({ worker, record, signal }),
        onFailure: async (record) => {
          const delivery = deliveries.get(record.messageId);
          if (delivery !== undefined && isOwn(record))
            queue.hideFor({ delivery, ms: 1000 * retryDelaySeconds(record) });
        },
        queue: queue.sender,
        idsOf: readQueuedIds,
        log,
      });
      end();
      return response;
    };
  }

  function startFunction({
    name,
    handle,
    sources,
  }: {
    name: string;
    handle: Handle;
    sources: readonly Source[];
  }): void {
    const pool = createPool({ ...zone, name, boot: () => createHandler(handle) });
    const visibilityTimeoutMs = 6 * timeLimitMs;
    for (const source of sources)
      consume({ world, ...source, pool, visibilityTimeoutMs, timeLimitMs });
  }

  startFunction({
    name: "worker ",
    handle({ worker, record, signal }) {
      const message = { body: record.body, signal };
      return isOwn(record) ? worker.handle(message) : worker.completion(message);
    },
    sources: [
      { queue, name: "queue", arn: "queue" },
      { queue: completions, name: "push", arn: "completions" },
    ],
  });
  startFunction({
    name: "undertaker ",
    handle({ worker, record: { body, group }, signal }) {
      const keep = () => archive.sender.send({ body, ...(group === undefined ? {} : { group }) });
      return worker.deadLetter({ body, signal, keep });
    },
    sources: [{ queue: deadLetters, name: "queue", arn: "dead-letters" }],
  });
  return createPool<Ingress>({ ...zone, name: "ingress ", boot: bootIngress });
}
