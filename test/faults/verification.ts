/** The Verification zone: what takes Slack's events, and what moves the tasks. */
import type { TaskStore } from "../../lambdas/shared/engine/ports.ts";
import { createDestinations } from "../../lambdas/verification/destinations.ts";
import { createGate } from "../../lambdas/verification/gate/create-gate.ts";
import { createIngress, type Ingress } from "../../lambdas/verification/ingress/ingress.ts";
import { createKeptSecret } from "../../lambdas/verification/kept-secret.ts";
import { createPolicy } from "../../lambdas/verification/policy.ts";
import { createTaskText } from "../../lambdas/verification/slack/answer-text.ts";
import type { SlackApi } from "../../lambdas/verification/slack/slack.ts";
import { type Task, taskSchema } from "../../lambdas/verification/task/task.ts";
import { threadSchema } from "../../lambdas/verification/task/thread.ts";
import { type HistoryEntry, parseHistoryEntry } from "../../lambdas/verification/usage-history/entry.ts";
import { createZoneWorker } from "../../lambdas/verification/worker/zone-worker.ts";
import type { Execution } from "./execution.ts";
import type { Pool } from "./pool.ts";
import { configOf, secrets } from "./settings.ts";
import { createSimFiles } from "./sim-files.ts";
import { createSimQueue, type SimQueue } from "./sim-queue.ts";
import { createSimStore } from "./sim-store.ts";
import { createSimTransport } from "./sim-transport.ts";
import { startFunctions } from "./verification-functions.ts";
import type { ZoneParts } from "./verification-parts.ts";
import { startProcess } from "./verification-process.ts";
import { worldMs } from "./virtual-time.ts";
import type { World } from "./world.ts";

export type Verification = {
  ingresses: Pool<Ingress>;
  records: TaskStore<Task>;
  usageHistory: TaskStore<HistoryEntry>;
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
  /** Where the ends of tasks are pushed to. */
  completions: SimQueue;
  skewMs: number;
}): Verification {
  const config = configOf(world.story);
  const { maxReceiveCount } = config.limits;
  const { newId } = world;
  const { store, records } = createSimStore({
    world,
    party: "store",
    parse: (json) => taskSchema.parse(json),
  });
  const threadStore = createSimStore({
    world,
    party: "store",
    parse: (json) => threadSchema.parse(json),
    onWritten: ({ tasks }) => noteTurns({ world, tasks }),
  });
  const historyStore = createSimStore({
    world,
    party: "store",
    parse: parseHistoryEntry,
    onWritten: ({ id }) => void world.historyIds.push(id),
  });
  const deadLetters = createSimQueue({ world, point: "queue.send", label: "dead " });
  const queue = createSimQueue({ world, point: "queue.send", deadLetters, maxReceiveCount });
  const { log } = world.leaks;
  const text = createTaskText({ locale: "en" });
  const unused = { get: async () => undefined, create: unwritten, replace: unwritten, list: unwritten };
  const gate = createGate({ config, ruleStore: unused, usageStore: unused, slack, log, now: Date.now });
  const policy = createPolicy({ config });

  const parts: ZoneParts = {
    world,
    config,
    skewMs,
    log,
    queue,
    deadLetters,
    completions,
    bootWorker() {
      const destinations = createDestinations({
        config,
        handle: () => Promise.reject(new Error("nothing is called past the simulated transport")),
        readSecret: async () => secrets.botToken,
        botTokenOf: async () => secrets.botToken,
        log,
        wrap: ({ name }) => createSimTransport({ world, hosts: zones.get(name)?.hosts }),
      });
      return createZoneWorker({
        store,
        threadStore: threadStore.store,
        historyStore: historyStore.store,
        queue: queue.sender,
        policy,
        slack,
        gate,
        files: createSimFiles({ world, slack }),
        text,
        destinations,
        config,
        log,
        newId,
      });
    },
    bootIngress() {
      const signingSecret = createKeptSecret({ readSecret: async () => secrets.signingSecret });
      return createIngress({ signingSecret, queue: queue.sender, log });
    },
  };
  const ingresses = world.engine.isOneProcess ? startProcess(parts) : startFunctions(parts);
  return { ingresses, records, usageHistory: historyStore.records, queues: [queue, deadLetters, completions] };
}

/** The allowlist is the configuration's alone, and nothing is counted. */
function unwritten(): Promise<never> {
  return Promise.reject(new Error("nothing is written here"));
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
