/** The Verification zone: what takes Slack's events, and what moves the tasks. */
import type { TaskStore } from "../../lambdas/shared/engine/ports.ts";
import { createDestinations } from "../../lambdas/verification/destinations.ts";
import { createIngress, type Ingress } from "../../lambdas/verification/ingress/ingress.ts";
import { createKeptSecret } from "../../lambdas/verification/kept-secret.ts";
import { createPolicy } from "../../lambdas/verification/policy.ts";
import { createAnswerText } from "../../lambdas/verification/slack/answer-text.ts";
import type { SlackApi } from "../../lambdas/verification/slack/slack.ts";
import { type Task, taskSchema } from "../../lambdas/verification/task/task.ts";
import { threadSchema } from "../../lambdas/verification/task/thread.ts";
import { createRunAct } from "../../lambdas/verification/worker/acts.ts";
import { createThreads } from "../../lambdas/verification/worker/threads.ts";
import { createWorker } from "../../lambdas/verification/worker/worker.ts";
import type { Execution } from "./execution.ts";
import type { Pool } from "./pool.ts";
import { configOf, secrets } from "./settings.ts";
import { createSimQueue, type SimQueue } from "./sim-queue.ts";
import { createSimStore } from "./sim-store.ts";
import { createSimTransport } from "./sim-transport.ts";
import { startFunctions } from "./verification-functions.ts";
import type { ZoneParts } from "./verification-parts.ts";
import { startProcess } from "./verification-process.ts";
import { worldMs } from "./virtual-time.ts";
import { logOf, type World } from "./world.ts";

export type Verification = { ingresses: Pool<Ingress>; records: TaskStore<Task>; queues: readonly SimQueue[] };

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
  const { leaseMs, maxReceiveCount } = config.limits;
  const { newId } = world;
  const { store, records } = createSimStore({
    world,
    party: "store",
    parse: (json) => taskSchema.parse(json),
    onWritten: (item) => void world.written.push(item),
  });
  const threadStore = createSimStore({
    world,
    party: "store",
    parse: (json) => threadSchema.parse(json),
    onWritten: ({ tasks }) => noteTurns({ world, tasks }),
  });
  const deadLetters = createSimQueue({ world, point: "queue.send" });
  const queue = createSimQueue({ world, point: "queue.send", deadLetters, maxReceiveCount });
  const log = logOf({ world, service: "verification" });
  const answerText = createAnswerText({ locale: config.slack.locale });
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
        log,
        wrap: ({ name }) => createSimTransport({ world, hosts: zones.get(name)?.hosts }),
      });
      const threads = createThreads({ store: threadStore.store, queue: queue.sender, now: Date.now });
      const runAct = createRunAct({ slack, threads, destinations, answerText, newId });
      return createWorker({ store, queue: queue.sender, policy, runAct, leaseMs, log, newId });
    },
    bootIngress() {
      const signingSecret = createKeptSecret({ readSecret: async () => secrets.signingSecret });
      return createIngress({ signingSecret, queue: queue.sender, log });
    },
  };
  const ingresses = world.engine.isOneProcess ? startProcess(parts) : startFunctions(parts);
  return { ingresses, records, queues: [queue, deadLetters, completions] };
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
