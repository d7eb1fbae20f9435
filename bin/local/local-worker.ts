/** The worker on one machine: over the stores of its engine, the files of its folder, and Slack. */
import type { AllowlistRule, Config } from "../../lambdas/shared/config/schema.ts";
import type { TaskQueue } from "../../lambdas/shared/engine/ports.ts";
import type { Log } from "../../lambdas/shared/log.ts";
import type { Telemetry } from "../../lambdas/shared/telemetry/telemetry.ts";
import type { Tokens } from "../../lambdas/verification/installations/tokens.ts";
import { createSlackApi } from "../../lambdas/verification/slack/web-api.ts";
import type { WorkerDestination } from "../../lambdas/verification/worker/calls.ts";
import { createConfiguredWorker, zoneStores } from "../../lambdas/verification/worker/configured-worker.ts";
import type { Observation, Worker } from "../../lambdas/verification/worker/worker.ts";
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

export function openLocalWorker({ engine, ...options }: LocalWorkerOptions): Worker {
  const { tokens, slackApiUrl: apiUrl, log, telemetry } = options;
  return createConfiguredWorker({
    ...options,
    stores: zoneStores((parse) => engine.taskStore({ parse })),
    slack: createSlackApi({ tokens, apiUrl, log, telemetry }),
    queueSystem: "sqlite",
  });
}
