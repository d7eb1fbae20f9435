/** Makes the host an A2A agent in a process of its own: its cards, and the loop that delivers its push notifications. */
import type { Config } from "@sekisho/config/schema.ts";
import type { SecretReference } from "@sekisho/config/values.ts";
import { runQueueLoop } from "@sekisho/runtime/engine/loop.ts";
import type { QueueConsumer, TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import type { ExecutionTask } from "../tasks/execution-task.ts";
import { readExecutionIds } from "../tasks/task-message.ts";
import { createCards, createLateCards } from "./cards.ts";
import type { A2aSettings } from "./endpoint.ts";
import { createPushDelivery } from "./push-delivery.ts";
import type { HandleLook } from "./push-outbox.ts";

export type A2aAgent = {
  /** The A2A settings of the host. */
  settings: A2aSettings;
  /** Serves the cards from now on, with this address unless one is configured. Rejects if the cards cannot be signed. */
  publish(request: { url: string }): Promise<void>;
};

export type PushLoop = {
  /** Waits a limited time for notifications under way. The rest is delivered after the next start. */
  close(): Promise<void>;
};

/** Several times the limit per caller and per receiver, so that none of them can use all of it. */
const concurrency = 32;
/** Longer than one delivery attempt. */
const visibilityTimeoutMs = 60_000;
const graceMs = 2000;

/** Without `notifications`, push is not supported. */
export function createA2aAgent(options: {
  config: Pick<Config["execution"], "a2a" | "authenticator">;
  /** The queue of push notices and looks, which `startPushLoop` consumes. */
  notifications: TaskQueue | undefined;
  readSecret: (reference: SecretReference) => Promise<string>;
}): A2aAgent {
  const { notifications: queue, readSecret } = options;
  const { a2a, authenticator } = options.config;
  const { tenant, deduplicate: deduplicates, push } = a2a;
  let address = a2a.url;
  const { cards, ready } = createLateCards({
    async make() {
      if (address === undefined) throw new Error("The host's address is not known yet.");
      return createCards({
        a2a,
        url: address,
        authenticator,
        streaming: true,
        push: queue !== undefined,
        readSecret,
      });
    },
  });
  return {
    settings: {
      cards,
      tenant,
      deduplicates,
      notifications: queue,
      allowLoopbackPush: push.allowLoopback,
    },
    async publish({ url }) {
      address ??= url;
      await ready();
    },
  };
}

/** Delivers the push notices of a host in this process. */
export function startPushLoop(options: {
  host: { lookAfter?: HandleLook | undefined };
  queue: TaskQueue & QueueConsumer;
  store: TaskStore<ExecutionTask>;
  allowLoopback: boolean;
  log: Log;
}): PushLoop {
  const { queue, store, allowLoopback, log } = options;
  const { lookAfter: look } = options.host;
  const stopController = new AbortController();
  const { handle } = createPushDelivery({
    store,
    queue,
    allowLoopback,
    ...(look && { look }),
    log,
  });
  const deliveryLoop = runQueueLoop({
    consumer: queue,
    handle: ({ body }, signal) => handle({ body, signal }),
    concurrency,
    visibilityTimeoutMs,
    graceMs,
    signal: stopController.signal,
    idsOf: readExecutionIds,
    log,
  });
  return {
    async close() {
      stopController.abort();
      await deliveryLoop;
    },
  };
}
