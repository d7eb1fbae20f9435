/** The worker with everything that it acts through, put together in one place for every engine. */
import type { Config } from "../../shared/config/schema.ts";
import { ItemError } from "../../shared/engine/item-json.ts";
import type { TaskQueue, TaskStore } from "../../shared/engine/ports.ts";
import type { Log } from "../../shared/log.ts";
import { noTelemetry, type Telemetry } from "../../shared/telemetry/telemetry.ts";
import type { Files } from "../files/files.ts";
import type { Gate } from "../gate/gate.ts";
import type { SlackApi } from "../slack/slack.ts";
import type { TaskText } from "../slack/task-text.ts";
import type { Policy } from "../task/policy.ts";
import type { Task } from "../task/task.ts";
import type { Thread } from "../task/thread.ts";
import type { HistoryEntry } from "../usage-history/entry.ts";
import { createUsageHistory } from "../usage-history/usage-history.ts";
import { createRunAct } from "./acts.ts";
import type { WorkerDestination } from "./calls.ts";
import { createHandleGreet } from "./greet.ts";
import { createHandlePress } from "./press.ts";
import { createQuestions } from "./questions.ts";
import type { Decor } from "./react.ts";
import { createSafeText } from "./safe-text.ts";
import type { QueueSystem } from "./step-spans.ts";
import { createThreads } from "./threads.ts";
import { createWorker, type Observation, type Worker } from "./worker.ts";

export type ZoneWorkerOptions = {
  store: TaskStore<Task>;
  threadStore: TaskStore<Thread>;
  historyStore: Pick<TaskStore<HistoryEntry>, "create">;
  queue: TaskQueue;
  policy: Policy;
  slack: SlackApi;
  gate: Gate;
  files: Files;
  text: TaskText;
  destinations: ReadonlyMap<string, WorkerDestination>;
  config: {
    slack: Pick<Config["slack"], "reactions" | "assistant" | "streaming">;
    limits: Pick<Config["limits"], "leaseMs">;
    usageHistory: Config["usageHistory"];
  };
  log: Log;
  telemetry?: Telemetry | undefined;
  /** What the queue is, for spans. */
  queueSystem?: QueueSystem | undefined;
  newId: () => string;
  now?: () => number;
  random?: () => number;
  observe?: ((observation: Observation) => void) | undefined;
};

export function createZoneWorker(options: ZoneWorkerOptions): Worker {
  const { store, threadStore, historyStore, queue, policy, slack, gate, files, destinations, config, log, newId } =
    options;
  const { telemetry = noTelemetry, now = Date.now, random = Math.random, observe } = options;
  const { reactions, assistant, streaming } = config.slack;
  const decor: Decor = { reactions: reactions === false ? undefined : reactions, assistant: assistant !== undefined };
  const text = createSafeText(options.text);
  const usageHistory = createUsageHistory({ store: historyStore, settings: config.usageHistory, now });
  const taskOf = (id: string) => store.get({ id }).catch(undefinedIfUnreadable);
  const threads = createThreads({ store: threadStore, taskOf, queue, now });
  const questions = createQuestions({ store, taskOf, queue, threads, gate, slack, text, decor, newId, now });
  return createWorker({
    store,
    queue,
    policy,
    runAct: createRunAct({
      ...{ slack, gate, files, text, threads, usageHistory, questions, decor, streaming, destinations, newId, now },
      taskOf,
    }),
    isKnownThread: threads.isKnown,
    press: createHandlePress({ store, queue, gate, questions, slack, text, log, now }),
    greet: createHandleGreet({ slack, prompts: assistant?.prompts ?? [] }),
    leaseMs: config.limits.leaseMs,
    log,
    telemetry,
    queueSystem: options.queueSystem,
    newId,
    now,
    random,
    ...(observe === undefined ? {} : { observe }),
  });
}

/** One task does not end because the record of another one cannot be read. That one's own messages see to it. */
function undefinedIfUnreadable(thrown: unknown): undefined {
  if (!(thrown instanceof ItemError)) throw thrown;
}
