/** The worker as the configuration wants it, over the stores, the files and the Slack of its engine. */
import { randomUUID } from "node:crypto";
import type { AllowlistRule, Config } from "../../shared/config/schema.ts";
import type { TaskItem, TaskStore } from "../../shared/engine/ports.ts";
import { createArtifactFetch } from "../files/artifact-fetch.ts";
import { createFiles } from "../files/create-files.ts";
import type { FileStore } from "../files/file-store.ts";
import { createGate } from "../gate/create-gate.ts";
import { parseKeptRules } from "../gate/kept-rules.ts";
import { parseUsage } from "../gate/usage.ts";
import type { Tokens } from "../installations/tokens.ts";
import { createPolicy, defaultLocaleOf } from "../policy.ts";
import { createTaskText } from "../slack/answer-text.ts";
import { taskSchema } from "../task/task.ts";
import { threadSchema } from "../task/thread.ts";
import { parseHistoryEntry } from "../usage-history/entry.ts";
import type { Worker } from "./worker.ts";
import { createZoneWorker, type ZoneWorkerOptions } from "./zone-worker.ts";

/** A store of the engine for items of one kind. */
type StoreOf = <T extends TaskItem>(parse: (json: unknown) => T) => TaskStore<T>;

/** All that the zone keeps. */
export function zoneStores(storeOf: StoreOf) {
  return {
    store: storeOf((json) => taskSchema.parse(json)),
    threadStore: storeOf((json) => threadSchema.parse(json)),
    historyStore: storeOf(parseHistoryEntry),
    ruleStore: storeOf(parseKeptRules),
    usageStore: storeOf(parseUsage),
  };
}

type Surroundings = Pick<
  ZoneWorkerOptions,
  "queue" | "slack" | "destinations" | "log" | "telemetry" | "queueSystem" | "observe"
>;

export function createConfiguredWorker({
  config,
  stores: { ruleStore, usageStore, ...stores },
  tokens,
  slackApiUrl: apiUrl,
  fileStore,
  executionIsHere = false,
  extraRules = [],
  ...surroundings
}: Surroundings & {
  config: Config;
  stores: ReturnType<typeof zoneStores>;
  tokens: Tokens;
  slackApiUrl: string;
  fileStore: FileStore;
  /** The Execution zone to which destinations without an address lead is on this machine. */
  executionIsHere?: boolean | undefined;
  /** Who may ask beside the configuration's allowlist. */
  extraRules?: readonly AllowlistRule[] | undefined;
}): Worker {
  const { slack, log } = surroundings;
  return createZoneWorker({
    ...surroundings,
    ...stores,
    config,
    policy: createPolicy({ config }),
    gate: createGate({ config, extraRules, ruleStore, usageStore, slack, log, now: Date.now }),
    files: createFiles({
      slack,
      token: tokens.tokenOf,
      newerToken: tokens.newerThan,
      apiUrl,
      store: fileStore,
      publicFetch: createArtifactFetch({ ...config, ownZoneIsHere: executionIsHere }),
      ...config.files,
      log,
    }),
    text: createTaskText({ locale: defaultLocaleOf(config.slack), contact: config.slack.contact }),
    newId: randomUUID,
  });
}
