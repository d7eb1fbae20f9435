/** The Verification zone: what takes Slack's events, and what moves the tasks. */

import { createCachedSecret } from "../../lambdas/shared/async/cached-secret.ts";
import type { TaskStore } from "../../lambdas/shared/engine/ports.ts";
import { createDestinations } from "../../lambdas/verification/destinations.ts";
import { parseUsage } from "../../lambdas/verification/gate/gate.ts";
import { parseRefusalRecord } from "../../lambdas/verification/gate/refusals.ts";
import { createPolicy } from "../../lambdas/verification/gate/rules.ts";

import { createIngress, type Ingress } from "../../lambdas/verification/ingress/ingress.ts";
import type { SlackApi } from "../../lambdas/verification/slack/api/slack.ts";
import { createTaskText } from "../../lambdas/verification/slack/messages/task-text.ts";
import { type Task, taskSchema } from "../../lambdas/verification/task/task.ts";
import { threadSchema } from "../../lambdas/verification/task/thread.ts";
import { type HistoryEntry, parseHistoryEntry } from "../../lambdas/verification/usage/entry.ts";
import { createVerificationWorker } from "../../lambdas/verification/worker/verification-worker.ts";
import { parseZoneSecret } from "../../lambdas/verification/zone-secret.ts";
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
  const refusalStore = createSimStore({ world, party: "store", parse: parseRefusalRecord });
  const usageStore = createSimStore({ world, party: "store", parse: parseUsage });
  const secretStore = createSimStore({ world, party: "store", parse: parseZoneSecret });
  const deadLetters = createSimQueue({ world, point: "queue.send", label: "dead " });
  const queue = createSimQueue({ world, point: "queue.send", deadLetters, maxReceiveCount });
  const { log } = world.leaks;
  const text = createTaskText({ locale: "en" });
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
      return createVerificationWorker({
        engine: {
          store,
          threadStore: threadStore.store,
          historyStore: historyStore.store,
          secretStore: secretStore.store,
          // The allowlist is the configuration's alone.
          ruleStore: { get: async () => undefined },
          usageStore: usageStore.store,
          refusalStore: refusalStore.store,
          queue: queue.sender,
        },
        policy,
        slack,
        files: createSimFiles({ world, slack }),
        text,
        destinations,
        config,
        log,
        newId,
        newSecret: () => `${newId()}${newId()}`,
      });
    },
    bootIngress() {
      const signingSecret = createCachedSecret({ readSecret: async () => secrets.signingSecret });
      return createIngress({ signingSecret, queue: queue.sender, log });
    },
  };
  const ingresses = world.engine.isOneProcess ? startProcess(parts) : startFunctions(parts);
  return { ingresses, records, usageHistory: historyStore.records, queues: [queue, deadLetters, completions] };
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
