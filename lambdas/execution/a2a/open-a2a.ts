/** Opens the A2A side of a host: its endpoint and its cards. */
import type { TaskQueue } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import type { Metrics } from "../../shared/telemetry/telemetry.ts";
import type { RunSlots } from "../http/exchange.ts";
import { createA2aEndpoint } from "./endpoint.ts";
import type { ServedCards } from "./late-cards.ts";
import { createOperations } from "./operations.ts";
import { createPushConfigs } from "./push-configs.ts";
import type { PushOutbox } from "./push-outbox.ts";

export type A2aSettings = {
  cards: ServedCards;
  /** What clients of 1.0 must say as `tenant`; without it they must say none. */
  tenant?: string | undefined;
  /** Where notices of changes go to be delivered by whoever consumes it; without it push notifications are not supported. */
  notifications?: TaskQueue | undefined;
  /** A task that nobody has started for so long is looked at, if it is to be told of. */
  unstartedAfterMs?: number;
  /** Whether push notifications may go to this machine. */
  allowLoopbackPush?: boolean;
  /** Whether a message id that comes again means the same message; true where absent. */
  deduplicates?: boolean | undefined;
  /** How long a stream waits for an answer that needs no task before it shows the task. */
  firstSignMs?: number;
  /** A stream on which nothing was said for so long says that it is there. */
  keepAliveMs?: number;
};

type OpenA2a = A2aSettings &
  Omit<Parameters<typeof createOperations>[0], "pushConfigs"> & {
    outbox: PushOutbox | undefined;
    /** Counts the streams of each caller. */
    calls: RunSlots;
    random: () => number;
    metrics: Metrics;
    log: Log;
  };

export function openA2a({
  cards,
  tenant,
  outbox,
  allowLoopbackPush = false,
  keepAliveMs = 15_000,
  calls,
  random,
  metrics,
  log,
  ...settings
}: OpenA2a) {
  const { tasks, newId } = settings;
  const pushConfigs = createPushConfigs({ tasks, outbox, allowLoopback: allowLoopbackPush, newId });
  const operations = createOperations({ ...settings, cards, pushConfigs });
  return {
    endpoint: createA2aEndpoint({ operations, tenant, keepAliveMs, calls, newId, random, metrics, log }),
    card: cards.endpoint,
  };
}
