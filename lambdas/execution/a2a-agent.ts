/** The host as an A2A agent where it runs in a process of its own: its cards, and the loop that delivers its push notifications. */
import type { Config } from "../shared/config/schema.ts";
import type { SecretReference } from "../shared/config/values.ts";
import { runQueueLoop } from "../shared/engine/loop.ts";
import type { QueueConsumer, TaskQueue, TaskStore } from "../shared/engine/ports.ts";
import type { Log } from "../shared/log.ts";
import { createCards } from "./host/a2a/cards.ts";
import { lateCards } from "./host/a2a/late-cards.ts";
import type { LookAfter } from "./host/a2a/look-after.ts";
import type { A2aSettings } from "./host/a2a/open-a2a.ts";
import { createPushDelivery } from "./host/a2a/push-delivery.ts";
import type { ExecutionTask } from "./host/execution-task.ts";

export type A2aAgent = {
  /** For the host. */
  settings: A2aSettings;
  /** Says where clients reach the host, from when on they are served. Rejects where the cards cannot be signed. */
  publish(request: { url: string }): Promise<void>;
  /** Lets notifications that are under way end, within bounds; what is left is delivered after the next start. */
  close(): Promise<void>;
};

/** Several times what one caller or receiver may take. */
const concurrency = 32;
/** More than one try takes. */
const visibilityTimeoutMs = 60_000;
const graceMs = 2000;

/** Without `notifications` push is not supported. */
export function openA2aAgent({
  config: { a2a, authenticator },
  store,
  notifications: queue,
  readSecret,
  log,
}: {
  config: Pick<Config["execution"], "a2a" | "authenticator">;
  store: TaskStore<ExecutionTask>;
  notifications: (TaskQueue & QueueConsumer) | undefined;
  readSecret: (reference: SecretReference) => Promise<string>;
  log: Log;
}): A2aAgent {
  const { tenant, deduplicate: deduplicates } = a2a;
  const { allowLoopback } = a2a.push;
  let address = a2a.url;
  const { cards, ready } = lateCards({
    async make() {
      if (address === undefined) throw new Error("The host's address is not known yet.");
      return createCards({ a2a, url: address, authenticator, streaming: true, push: queue !== undefined, readSecret });
    },
  });
  const stopping = new AbortController();
  const { promise: host, resolve: offerLook } = Promise.withResolvers<LookAfter>();
  const look: LookAfter = async (each) => (await host)(each);
  const delivering = queue && deliver({ queue, store, allowLoopback, look, signal: stopping.signal, log });
  return {
    settings: { cards, tenant, deduplicates, notifications: queue, offerLook, allowLoopbackPush: allowLoopback },
    async publish({ url }) {
      address ??= url;
      await ready();
    },
    async close() {
      stopping.abort();
      await delivering;
    },
  };
}

function deliver({
  queue,
  signal,
  log,
  ...settings
}: {
  queue: TaskQueue & QueueConsumer;
  store: TaskStore<ExecutionTask>;
  allowLoopback: boolean;
  look: LookAfter;
  signal: AbortSignal;
  log: Log;
}): Promise<void> {
  const { handle } = createPushDelivery({ ...settings, queue, log });
  return runQueueLoop({
    consumer: queue,
    handle: ({ body }, signal) => handle({ body, signal }),
    concurrency,
    visibilityTimeoutMs,
    graceMs,
    signal,
    log,
  });
}
