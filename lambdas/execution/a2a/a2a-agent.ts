/** The host as an A2A agent where it runs in a process of its own: its cards, and the loop that delivers its push notifications. */
import type { Config } from "../../shared/config/schema.ts";
import type { SecretReference } from "../../shared/config/values.ts";
import { runQueueLoop } from "../../shared/engine/loop.ts";
import type { QueueConsumer, TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import type { ExecutionTask } from "../tasks/execution-task.ts";
import { createCards } from "./cards.ts";
import { createLateCards } from "./late-cards.ts";
import type { A2aSettings } from "./open-a2a.ts";
import { createPushDelivery } from "./push-delivery.ts";
import type { HandleLook } from "./push-outbox.ts";

export type A2aAgent = {
  /** For the host. */
  settings: A2aSettings;
  /** Says where clients reach the host, from when on they are served. Rejects where the cards cannot be signed. */
  publish(request: { url: string }): Promise<void>;
};

export type PushLoop = {
  /** Lets notifications that are under way end, within bounds; what is left is delivered after the next start. */
  close(): Promise<void>;
};

/** Several times what one caller or receiver may take. */
const concurrency = 32;
/** More than one try takes. */
const visibilityTimeoutMs = 60_000;
const graceMs = 2000;

/** Without `notifications` push is not supported. */
export function createA2aAgent({
  config: { a2a, authenticator },
  notifications: queue,
  readSecret,
}: {
  config: Pick<Config["execution"], "a2a" | "authenticator">;
  /** Where notices of changes go. `startPushLoop` delivers them. */
  notifications: TaskQueue | undefined;
  readSecret: (reference: SecretReference) => Promise<string>;
}): A2aAgent {
  const { tenant, deduplicate: deduplicates, push } = a2a;
  let address = a2a.url;
  const { cards, ready } = createLateCards({
    async make() {
      if (address === undefined) throw new Error("The host's address is not known yet.");
      return createCards({ a2a, url: address, authenticator, streaming: true, push: queue !== undefined, readSecret });
    },
  });
  return {
    settings: { cards, tenant, deduplicates, notifications: queue, allowLoopbackPush: push.allowLoopback },
    async publish({ url }) {
      address ??= url;
      await ready();
    },
  };
}

/** Delivers the notices of a host in this process. `lookAfter` is the host's. */
export function startPushLoop({
  host: { lookAfter: look },
  queue,
  store,
  allowLoopback,
  log,
}: {
  host: { lookAfter?: HandleLook | undefined };
  queue: TaskQueue & QueueConsumer;
  store: TaskStore<ExecutionTask>;
  allowLoopback: boolean;
  log: Log;
}): PushLoop {
  const stopping = new AbortController();
  const { handle } = createPushDelivery({ store, queue, allowLoopback, ...(look && { look }), log });
  const delivering = runQueueLoop({
    consumer: queue,
    handle: ({ body }, signal) => handle({ body, signal }),
    concurrency,
    visibilityTimeoutMs,
    graceMs,
    signal: stopping.signal,
    log,
  });
  return {
    async close() {
      stopping.abort();
      await delivering;
    },
  };
}
