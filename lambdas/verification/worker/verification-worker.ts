/** Assembles the Verification worker: builds its parts in order and connects them by plain arguments. */

import { randomUUID } from "node:crypto";
import type { AllowlistRule, Config } from "@sekisho/config/schema.ts";
import type { ItemWriter, TaskItem, TaskQueue, TaskStore } from "@sekisho/runtime/engine/ports.ts";
import {
  createRecordMemory,
  ItemError,
  writerWithMemory,
} from "@sekisho/runtime/engine/records.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createTrace, noTelemetry, type Telemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { WorkerDestination } from "../destinations.ts";
import type { Files } from "../files/files.ts";
import { createGate, type Gate } from "../gate/gate.ts";
import { parseUsage, type Usage } from "../gate/quotas.ts";
import { parseRefusalRecord, type RefusalRecord } from "../gate/refusals.ts";
import { createPolicy, parseReadableRules, toDefaultLocale } from "../gate/rules.ts";
import { createFindEmail } from "../lookups/person-email.ts";
import { createFindTaskContext } from "../lookups/task-context.ts";
import type { SlackApi } from "../slack/api/slack.ts";
import { chooseContact } from "../slack/messages/outcome-text.ts";
import { createTaskText, type TaskText } from "../slack/messages/task-text.ts";
import type { Policy } from "../task/routing.ts";
import { parseTask } from "../task/task.ts";
import { isThread, parseThread, type Thread } from "../task/thread.ts";
import { createZoneSecret, parseZoneSecret, type ZoneSecret } from "../zone-secret.ts";
import { createActs } from "./acts.ts";
import { createSafeText } from "./data-failures.ts";
import { createHandleInteraction } from "./interactions.ts";
import { createNoticeLateChange } from "./late-changes.ts";
import { createNotify } from "./notices.ts";
import { createPublishHome, createReadOverview } from "./overview.ts";
import { createQuestions } from "./questions.ts";
import { createRetryByClick } from "./retry-click.ts";
import type { QueueSystem } from "./step/spans.ts";
import type { Observation } from "./step/step.ts";
import { createThreads } from "./threads.ts";
import { createVotes } from "./votes.ts";
import { createWorker, type Worker } from "./worker.ts";

/** `open` opens a store of the engine for items of one kind. */
export function openWorkerStores(
  open: <T extends TaskItem>(parse: (json: unknown) => T) => TaskStore<T> & ItemWriter,
) {
  return {
    store: open(parseTask),
    threadStore: open(parseThread),
    secretStore: open(parseZoneSecret),
    ruleStore: open(parseReadableRules),
    usageStore: open(parseUsage),
    refusalStore: open(parseRefusalRecord),
  };
}

type WorkerStores = ReturnType<typeof openWorkerStores>;

export type WorkerEngine = {
  store: WorkerStores["store"];
  threadStore: TaskStore<Thread>;
  secretStore: TaskStore<ZoneSecret>;
  usageStore: TaskStore<Usage>;
  refusalStore: TaskStore<RefusalRecord>;
  ruleStore: Pick<WorkerStores["ruleStore"], "get">;
  queue: TaskQueue;
  /** The queue's kind, for spans. */
  queueSystem?: QueueSystem | undefined;
};

/** `policy`, `gate` and `text` default to those of the configuration. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export function createVerificationWorker(options: {
  config: Config;
  engine: WorkerEngine;
  slack: SlackApi;
  files: Files;
  destinations: ReadonlyMap<string, WorkerDestination>;
  /** Rules beside the configuration's allowlist. */
  extraRules?: readonly AllowlistRule[] | undefined;
  log: Log;
  telemetry?: Telemetry | undefined;
  observe?: ((observation: Observation) => void) | undefined;
  newId?: (() => string) | undefined;
  /** Creates the zone's secret if there is none yet. */
  newSecret?: (() => string) | undefined;
  now?: (() => number) | undefined;
  random?: (() => number) | undefined;
  /** Aborts when the process stops. Polls that wait for news then end. */
  stopping?: AbortSignal | undefined;
  policy?: Policy | undefined;
  gate?: Gate | undefined;
  text?: TaskText | undefined;
}): Worker {
  const {
    config,
    engine,
    slack,
    files,
    destinations,
    extraRules = [],
    log,
    telemetry = noTelemetry,
  } = options;
  const {
    observe,
    newId = randomUUID,
    newSecret,
    now = Date.now,
    random = Math.random,
    stopping,
  } = options;
  const { queue, queueSystem, ruleStore, usageStore, refusalStore } = engine;
  const { reactions, status, assistant, streaming } = config.slack;
  const contact = chooseContact(config.slack);
  const { policy = createPolicy({ config }) } = options;
  const {
    gate = createGate({ config, extraRules, ruleStore, usageStore, refusalStore, slack, log, now }),
  } = options;
  const { sampleRatio } = config.telemetry.traces;
  const prompts = assistant?.prompts ?? [];
  const texts = { locale: toDefaultLocale(config.slack), feedback: config.slack.feedback };
  const { text: unsafeText = createTaskText({ ...texts, contact }) } = options;
  const sessions = assistant !== undefined;
  const indicators = { reactions: reactions === false ? undefined : reactions, status, sessions };
  const text = createSafeText(unsafeText);
  const threadMemory = createRecordMemory<Thread>();
  const writer = writerWithMemory(engine.store, {
    memory: threadMemory,
    isOfMemory: isThread,
  });
  const store = { ...engine.store, ...writer };
  const taskOf = (id: string) => store.get({ id }).catch(ignoreUnreadable);
  const threads = createThreads({
    store: engine.threadStore,
    memory: threadMemory,
    taskOf,
    queue,
    policy,
    now,
  });
  const notify = createNotify({ gate });
  const sharedParts = { gate, notify, slack, text, indicators, threads, taskOf, newId, now };
  const readOverview = createReadOverview({ config, contact, store, gate, text });
  const publishHome = createPublishHome({ readOverview, gate, slack, log, now });
  const questions = createQuestions({ ...sharedParts, store, queue });
  const zoneSecret = createZoneSecret({ store: engine.secretStore, newSecret, now });
  const isEmailWanted = [...destinations.values()].some(({ asker }) => asker?.getsEmail);
  const findEmail = isEmailWanted ? createFindEmail({ slack, now }) : undefined;
  const votes = createVotes({
    ...{ ...sharedParts, findEmail },
    store,
    destinations,
    zoneSecret,
    log,
  });
  const { concurrency: slots } = config.limits;
  const findTaskContext = createFindTaskContext({ slack, settings: config.slack.context, now });
  const answering = {
    findTaskContext,
    findEmail,
    contextSettings: config.slack.context,
    files,
    questions,
    readOverview,
    streaming,
    destinations,
    slots,
    stopping,
  };
  const acts = createActs({ ...sharedParts, ...answering });
  return createWorker({
    store,
    queue,
    policy,
    ...acts,
    isKnownThread: threads.isKnown,
    isIgnored: gate.isIgnored,
    noticeLateChange: createNoticeLateChange({ store, slack, text }),
    handleInteraction: createHandleInteraction({
      ...{
        ...sharedParts,
        store,
        queue,
        questions,
        publishHome,
        prompts,
        log,
        takeVote: votes.take,
      },
      retryByClick: createRetryByClick({
        ...sharedParts,
        store,
        queue,
        newTrace: () => createTrace({ sampleRatio }),
      }),
    }),
    passVote: votes.pass,
    leaseMs: config.limits.leaseMs,
    zoneSecret,
    log,
    telemetry,
    queueSystem,
    newId,
    now,
    random,
    ...(observe === undefined ? {} : { observe }),
  });
}

/** Treats an unreadable record of another task as absent. That task's own messages handle the failure. */
function ignoreUnreadable(error: unknown): undefined {
  if (!(error instanceof ItemError)) throw error;
}
