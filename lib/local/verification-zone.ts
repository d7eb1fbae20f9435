/** The Verification zone on one machine: ingress and worker around one engine. */
import { join } from "node:path";
import { maxExtraMs } from "@sekisho/config/call-time.ts";
import type { AllowlistRule, Config } from "@sekisho/config/schema.ts";
import { createCachedSecret } from "@sekisho/runtime/async/cached-secret.ts";
import { runQueueLoop } from "@sekisho/runtime/engine/loop.ts";
import type { QueueConsumer, ReceivedMessage } from "@sekisho/runtime/engine/ports.ts";
import type { Engine } from "@sekisho/runtime/engine/sqlite/open-engine.ts";
import type { Log } from "@sekisho/runtime/log.ts";
import { createMinuteLimiter } from "@sekisho/runtime/minute-limiter.ts";
import { createTrace, type ProcessTelemetry } from "@sekisho/runtime/telemetry/telemetry.ts";
import type { WorkerDestination } from "@sekisho/verification/destinations.ts";
import { createArtifactFetch } from "@sekisho/verification/files/artifact-fetch.ts";
import { createFiles } from "@sekisho/verification/files/create-files.ts";
import { createIngress, createIntake } from "@sekisho/verification/ingress/ingress.ts";
import { type Page, startVerificationServer } from "@sekisho/verification/ingress/server.ts";
import { createSlackApi } from "@sekisho/verification/slack/api/web-api.ts";
import { readQueuedIds } from "@sekisho/verification/worker/messages/queued-ids.ts";
import type { Observation } from "@sekisho/verification/worker/step/step.ts";
import {
  createVerificationWorker,
  openWorkerStores,
} from "@sekisho/verification/worker/verification-worker.ts";
import { openFileStore } from "./file-store.ts";
import { createLanding, namePortHolder } from "./landing.ts";
import { startMetricsServer } from "./metrics-page.ts";
import type { SlackInstallation } from "./slack-installation.ts";
import { startSocketMode } from "./socket-mode.ts";

/** When the zone closes, running steps get this long to end. Then their calls are aborted. */
const closeGraceMs = 3000;
/** A push is dropped after this many failures, because its task is polled anyway. */
const maxCompletionReceives = 3;
/** A flood of pushes must not delay the steps. */
const completionConcurrency = 2;

export type VerificationZone = {
  url: string;
  port: number;
  /** Undefined without a port for metrics. */
  metricsUrl: string | undefined;
  close(): Promise<void>;
};

export type VerificationOptions = {
  config: Config;
  openEngine: () => Engine;
  /** Holds the files of messages. */
  dataFolder: string;
  port: number;
  /** For `GET /metrics`, apart from the port of Slack's events, to which a tunnel may lead. Undefined: no metrics. */
  metricsPort?: number | undefined;
  /** Without it, every event over HTTP is refused. */
  signingSecret?: (() => Promise<string>) | undefined;
  installation: SlackInstallation;
  /** With it, events come over Socket Mode. */
  appToken?: (() => Promise<string>) | undefined;
  slackApiUrl: string;
  destinations: ReadonlyMap<string, WorkerDestination>;
  /** The Execution zone on this machine, for destinations without an address. */
  executionUrl?: string | undefined;
  /** Added to the configuration's allowlist. */
  extraRules?: readonly AllowlistRule[];
  /** The Execution zone pushes completions here. Without it, tasks are only polled. */
  completions?: QueueConsumer | undefined;
  /** Pages for people. A browser whose visit it leaves alone reads which zone this is. */
  page?: Page;
  /** True if the Execution zone runs in the same process. */
  isWithExecution?: boolean;
  observe?: (observation: Observation) => void;
  log: Log;
  telemetry?: ProcessTelemetry | undefined;
};

/** Resolves when the zone accepts events. `close` lets running steps end. Open tasks continue at the next start. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
export async function startVerificationZone(
  options: VerificationOptions,
): Promise<VerificationZone> {
  const {
    config,
    dataFolder,
    installation,
    slackApiUrl: apiUrl,
    page = () => false,
    log,
    telemetry,
  } = options;
  const { completions } = options;
  const metrics = telemetry?.metrics;
  const { concurrency, visibilityTimeoutMs, maxReceiveCount } = config.limits;
  const engine = options.openEngine();
  const { queue, deadLetters } = engine.taskQueue({ maxReceiveCount });
  let url = "";
  const fileStore = openFileStore({ folder: join(dataFolder, "files"), baseUrl: () => url, log });
  const { tokens } = installation;
  const { forwards } = config.slack.context;
  const slack = createSlackApi({ tokens, apiUrl, forwards, log, telemetry });
  const stores = openWorkerStores((parse) => engine.taskStore({ parse }));
  const stop = new AbortController();
  const worker = createVerificationWorker({
    config,
    stopping: stop.signal,
    engine: { ...stores, queue, queueSystem: "sqlite" },
    slack,
    files: createFiles({
      slack,
      token: tokens.tokenOf,
      newerToken: tokens.readNewerToken,
      apiUrl,
      store: fileStore,
      publicFetch: createArtifactFetch({ ...config, executionUrl: options.executionUrl }),
      ...config.files,
      log,
    }),
    destinations: options.destinations,
    extraRules: options.extraRules,
    observe: options.observe,
    log,
    telemetry,
  });
  const handleTimeoutMs = visibilityTimeoutMs + maxExtraMs(config);
  const loop = {
    visibilityTimeoutMs,
    handleTimeoutMs,
    signal: stop.signal,
    graceMs: closeGraceMs,
    idsOf: readQueuedIds,
    log,
  };
  const complete = async ({ body, receiveCount }: ReceivedMessage, signal: AbortSignal) => {
    try {
      await worker.completion({ body, signal });
    } catch (error) {
      if (receiveCount < maxCompletionReceives) throw error;
    }
  };
  const run = (consumer: QueueConsumer, handle: typeof complete, concurrency: number) =>
    runQueueLoop({ ...loop, consumer, handle, concurrency });
  const loops = [
    run(queue, ({ body }, signal) => worker.handle({ body, signal }), concurrency),
    run(deadLetters, ({ body }, signal) => worker.deadLetter({ body, signal }), 1),
    ...(completions === undefined ? [] : [run(completions, complete, completionConcurrency)]),
  ];
  /** Closes everything that is open. In the order of opening. */
  const closers: (() => Promise<void>)[] = [
    () => engine.close(),
    async () => fileStore.close(),
    async () => {
      stop.abort();
      await Promise.all(loops);
    },
  ];
  const close = async () => {
    for (const each of closers.splice(0).reverse()) await each();
  };
  async function startMetrics(): Promise<string | undefined> {
    const { metricsPort: port } = options;
    if (port === undefined) return undefined;
    const server = await startMetricsServer({
      telemetry,
      queueDepths: engine.queueDepths,
      port,
      log,
    });
    closers.push(server.close);
    return server.url;
  }

  try {
    const { signingSecret = async () => "", appToken } = options;
    const { sampleRatio } = config.telemetry.traces;
    const newTrace = () => createTrace({ sampleRatio });
    const intake = { queue, forwards, log, metrics, newTrace };
    const { port, isWithExecution = false, executionUrl = "" } = options;
    const landing = createLanding(() => ({
      zone: `Verification zone of sekisho ${isWithExecution ? "start" : "verification"}`,
      text: isWithExecution
        ? "It takes events from Slack. To open its page, use the address in the terminal, which holds a token."
        : "It takes events from Slack.",
      link: { href: executionUrl, text: "Go to the Execution zone" },
    }));
    const portSetting = isWithExecution ? "SEKISHO_PORT" : "SEKISHO_PORT or --port";
    const listening = startVerificationServer({
      ingress: createIngress({
        ...intake,
        signingSecret: createCachedSecret({ readSecret: signingSecret }),
        isDue: createMinuteLimiter({ now: Date.now }),
      }),
      page: async (...exchange) => {
        for (const each of [fileStore.page, installation.page, page, landing])
          if (await each(...exchange)) return true;
        return false;
      },
      ...{ port, portSetting, log },
    });
    const server = await namePortHolder(listening, { port, portSetting });
    closers.push(server.close);
    url = server.url;
    if (appToken !== undefined) {
      const socket = await startSocketMode({ appToken, apiUrl, intake: createIntake(intake), log });
      closers.push(socket.close);
    }
    const metricsUrl = await startMetrics();
    return { url, port: server.port, metricsUrl, close };
  } catch (error) {
    await close();
    throw error;
  }
}
