/** The Execution zone: hosts, and where tasks are queued, the workers that run their agents. */

import { resolveMaxTaskMs } from "@sekisho/config/stage-config.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import type { Host } from "@sekisho/execution/host.ts";
import { createHostSettings, withDefaults } from "@sekisho/execution/host-settings.ts";
import type { ExecutionTask } from "@sekisho/execution/tasks/execution-task.ts";
import type { TaskStore } from "@sekisho/runtime/engine/ports.ts";
import { consume, type Handler } from "./event-source.ts";
import { createPool, type Pool } from "./pool.ts";
import { configOf, secrets } from "./settings.ts";
import { createAgent } from "./sim-agent.ts";
import { createSimQueue, type SimQueue } from "./sim-queue.ts";
import { codecOf, createSimStore } from "./sim-store.ts";
import { createTurns, newestProduct, type Product } from "./versions/mix.ts";
import type { World } from "./world.ts";

export type Execution = { hosts: Pool<Host>; records: TaskStore<ExecutionTask>; work: SimQueue };

/** As the stack has it: 15 minutes, and six times that until a message comes again. */
const functionLimitMs = 15 * 60_000;
const maxReceiveCount = 3;

export function createExecution({
  world,
  name: zoneName,
  completions,
  skewMs,
}: {
  world: World;
  /** The destination's, for whoever is told. */
  name: string;
  /** Receives the completion pushes. */
  completions: SimQueue;
  skewMs: number;
}): Execution {
  const { execution } = configOf(world.story, world.engine);
  const onWritten = ({ id, correlationId }: ExecutionTask) =>
    world.names.add(id, world.names.of(correlationId));
  const tasks = createSimStore<ExecutionTask>({
    world,
    party: "tasks",
    name: `tasks of ${zoneName}`,
    onWritten,
  });
  const codec = (product: Product) => codecOf({ product, parse: product.parseExecutionTask });
  // A read finds out that a task was never started: of ids that were received too often nobody hears.
  const deadIds = createSimQueue({ world, name: `dead work of ${zoneName}`, point: "work.send" });
  const work = createSimQueue({
    world,
    name: `work of ${zoneName}`,
    point: "work.send",
    deadLetters: deadIds,
    maxReceiveCount,
  });
  const { log } = world.leaks;
  const { newId, engine } = world;
  const { leaseMs, lostAfterMs } = execution;
  const { syncBudgetMs } = world.story;
  const agent: Agent = createAgent({ world });
  const pushed = world.story.isPushed ? { completions: completions.sender } : {};
  const { progressMs, writingBudgetMs } = withDefaults(
    engine.isOneProcess ? createHostSettings({ execution }) : {},
  );
  const common = { leaseMs, lostAfterMs, syncBudgetMs, progressMs, writingBudgetMs, log, newId };
  const ofHost = {
    ...common,
    pollAfterMs: world.story.pollAfterMs,
    maxTaskMs: resolveMaxTaskMs({
      config: { execution },
      ...(engine.isWorkQueued ? { kind: "lambda" as const } : {}),
    }),
  };
  const zone = { world, zone: "execution" as const, skewMs };
  let first: string | undefined;
  /** The thread's: the first that is ever called. */
  const oldSession = (id: string | undefined) => {
    first ??= id;
    return first;
  };
  const hosts = createPool<Host>({
    ...zone,
    name: zoneName === "agents" ? "host " : `${zoneName} `,
    size: engine.isOneProcess ? 1 : 2,
    boot() {
      const host = createTurns({ world, part: "execution", create: createHost });
      return { ...host(), exchange: (call) => host().exchange(call) };
    },
  });
  if (engine.isWorkQueued) startWorkers();
  return { hosts, records: tasks.recordsFor(codec(newestProduct(world))), work };

  function createHost(product: Product): Host {
    const authenticator = product.createBearerAuthenticator({
      readTokens: async () => [secrets.bearer],
    });
    const own = { ...ofHost, authenticator, store: tasks.storeFor(codec(product)) };
    if (engine.isWorkQueued) return product.createHost({ ...own, taskQueue: work.sender });
    return inSessions({
      isOld: (id) => world.story.isSessionOld === true && id === oldSession(id),
      old: product.createHost({ ...own, ...pushed, agent, processLeftMs: () => 60_000 }),
      young: product.createHost({ ...own, ...pushed, agent }),
    });
  }

  function startWorkers(): void {
    const pool = createPool<Handler>({
      ...zone,
      name: zoneName === "agents" ? "runner " : `${zoneName} runner `,
      size: 2,
      boot() {
        const createRunner = (product: Product) => {
          const own = { ...common, ...pushed, store: tasks.storeFor(codec(product)), agent };
          const worker = product.createExecutionWorker(own);
          return product.handleExecutionBatches({ worker, queue: work.sender, log });
        };
        const handle = createTurns({ world, part: "execution", create: createRunner });
        return ({ event, context }) => handle()(event, context);
      },
    });
    consume({
      world,
      queue: work,
      name: "work",
      arn: `work of ${zoneName}`,
      pool,
      visibilityTimeoutMs: 6 * functionLimitMs,
      timeLimitMs: functionLimitMs,
    });
  }
}

/** Each session has a process of its own in truth; here the hosts of one process share what kills them. */
function inSessions({
  isOld,
  old,
  young,
}: {
  isOld: (id: string | undefined) => boolean;
  old: Host;
  young: Host;
}): Host {
  return {
    ...young,
    exchange: (call) => (isOld(call.header(sessionHeader)) ? old : young).exchange(call),
  };
}

const sessionHeader = "x-amzn-bedrock-agentcore-runtime-session-id";
