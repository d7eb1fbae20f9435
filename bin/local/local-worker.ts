/** The worker on one machine, with everything that it acts through: stores of the engine, Slack, the gate, files. */
import { randomUUID } from "node:crypto";
import type { AllowlistRule, Config } from "../../lambdas/shared/config/schema.ts";
import type { TaskQueue } from "../../lambdas/shared/engine/ports.ts";
import type { Log } from "../../lambdas/shared/log.ts";
import type { Telemetry } from "../../lambdas/shared/telemetry/telemetry.ts";
import { createArtifactFetch } from "../../lambdas/verification/files/artifact-fetch.ts";
import { createFiles } from "../../lambdas/verification/files/create-files.ts";
import { createGate } from "../../lambdas/verification/gate/create-gate.ts";
import { parseKeptRules } from "../../lambdas/verification/gate/kept-rules.ts";
import { parseUsage } from "../../lambdas/verification/gate/usage.ts";
import type { Tokens } from "../../lambdas/verification/installations/tokens.ts";
import { createPolicy, defaultLocaleOf } from "../../lambdas/verification/policy.ts";
import { createTaskText } from "../../lambdas/verification/slack/answer-text.ts";
import { createSlackApi } from "../../lambdas/verification/slack/web-api.ts";
import { taskSchema } from "../../lambdas/verification/task/task.ts";
import { threadSchema } from "../../lambdas/verification/task/thread.ts";
import { parseHistoryEntry } from "../../lambdas/verification/usage-history/entry.ts";
import type { WorkerDestination } from "../../lambdas/verification/worker/calls.ts";
import type { Observation, Worker } from "../../lambdas/verification/worker/worker.ts";
import { createZoneWorker } from "../../lambdas/verification/worker/zone-worker.ts";
import type { Engine } from "./engine.ts";
import type { LocalFileStore } from "./file-store.ts";

export type LocalWorkerOptions = {
  config: Config;
  engine: Engine;
  queue: TaskQueue;
  tokens: Tokens;
  slackApiUrl: string;
  fileStore: LocalFileStore;
  destinations: ReadonlyMap<string, WorkerDestination>;
  /** The Execution zone to which destinations without an address lead is on this machine. */
  executionIsHere?: boolean | undefined;
  /** Who may ask beside the configuration's allowlist. */
  extraRules?: readonly AllowlistRule[] | undefined;
  observe?: ((observation: Observation) => void) | undefined;
  log: Log;
  telemetry?: Telemetry | undefined;
};

export function openLocalWorker(options: LocalWorkerOptions): Worker {
  const { config, engine, queue, tokens, slackApiUrl: apiUrl, fileStore, destinations, log, telemetry } = options;
  const slack = createSlackApi({ tokens, apiUrl, log, telemetry });
  return createZoneWorker({
    store: engine.taskStore({ parse: (json) => taskSchema.parse(json) }),
    threadStore: engine.taskStore({ parse: (json) => threadSchema.parse(json) }),
    historyStore: engine.taskStore({ parse: parseHistoryEntry }),
    queue,
    policy: createPolicy({ config }),
    slack,
    gate: createGate({
      config,
      extraRules: options.extraRules ?? [],
      ruleStore: engine.taskStore({ parse: parseKeptRules }),
      usageStore: engine.taskStore({ parse: parseUsage }),
      slack,
      log,
      now: Date.now,
    }),
    files: createFiles({
      slack,
      token: tokens.tokenOf,
      newerToken: tokens.newerThan,
      apiUrl,
      store: fileStore,
      publicFetch: createArtifactFetch({ ...config, ownZoneIsHere: options.executionIsHere ?? false }),
      ...config.files,
      log,
    }),
    text: createTaskText({ locale: defaultLocaleOf(config.slack), contact: config.slack.contact }),
    destinations,
    config,
    log,
    telemetry,
    queueSystem: "sqlite",
    newId: randomUUID,
    observe: options.observe,
  });
}
