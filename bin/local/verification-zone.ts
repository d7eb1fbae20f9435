/** The Verification zone on one machine: ingress and worker around one engine. */
import { randomUUID } from "node:crypto";
import type { AllowlistRule, Config } from "../../lambdas/shared/config/schema.ts";
import { runQueueLoop } from "../../lambdas/shared/engine/loop.ts";
import type { QueueConsumer, ReceivedMessage } from "../../lambdas/shared/engine/ports.ts";
import type { Log } from "../../lambdas/shared/log.ts";
import { createIngress } from "../../lambdas/verification/ingress/ingress.ts";
import { type Page, startVerificationServer } from "../../lambdas/verification/ingress/server.ts";
import { createKeptSecret } from "../../lambdas/verification/kept-secret.ts";
import { createPolicy } from "../../lambdas/verification/policy.ts";
import { createAnswerText } from "../../lambdas/verification/slack/answer-text.ts";
import { createSlackApi } from "../../lambdas/verification/slack/web-api.ts";
import { taskSchema } from "../../lambdas/verification/task/task.ts";
import { threadSchema } from "../../lambdas/verification/task/thread.ts";
import { createRunAct, type WorkerDestination } from "../../lambdas/verification/worker/acts.ts";
import { createThreads } from "../../lambdas/verification/worker/threads.ts";
import { createWorker, type Observation } from "../../lambdas/verification/worker/worker.ts";
import type { Engine } from "./engine.ts";

/** Steps under way get this long to end by themselves when the zone is closed; then their calls are ended. */
const closeGraceMs = 3000;
/** A push that has failed so often is dropped: its task is polled all the same. */
const maxCompletionReceives = 3;
/** Pushes must not take the steps' place, however many come. */
const completionConcurrency = 2;

export type VerificationZone = { url: string; port: number; close(): Promise<void> };

export type VerificationOptions = {
  config: Config;
  openEngine: () => Engine;
  port: number;
  signingSecret: () => Promise<string>;
  botToken: () => Promise<string>;
  slackApiUrl: string;
  destinations: ReadonlyMap<string, WorkerDestination>;
  /** Who may ask beside the configuration's allowlist. */
  extraRules?: readonly AllowlistRule[];
  /** Where the Execution zone pushes the ends of tasks; without it tasks are polled only. */
  completions?: QueueConsumer | undefined;
  page?: Page;
  observe?: (observation: Observation) => void;
  log: Log;
};

/** Resolves when events can come in and tasks move. `close` lets the steps under way end; what is left goes on at the next start. */
export async function startVerificationZone(options: VerificationOptions): Promise<VerificationZone> {
  const { config, log } = options;
  const { concurrency, leaseMs, visibilityTimeoutMs, maxReceiveCount } = config.limits;
  const engine = options.openEngine();
  const store = engine.taskStore({ parse: (json) => taskSchema.parse(json) });
  const { queue, deadLetters } = engine.taskQueue({ maxReceiveCount });
  const threadStore = engine.taskStore({ parse: (json) => threadSchema.parse(json) });
  const threads = createThreads({ store: threadStore, queue, now: Date.now });
  const slack = createSlackApi({ token: options.botToken, apiUrl: options.slackApiUrl, log });
  const answerText = createAnswerText({ locale: config.slack.locale });
  const worker = createWorker({
    store,
    queue,
    policy: createPolicy({ config, extraRules: options.extraRules ?? [] }),
    runAct: createRunAct({ slack, threads, destinations: options.destinations, answerText, newId: randomUUID }),
    leaseMs,
    log,
    newId: randomUUID,
    ...(options.observe === undefined ? {} : { observe: options.observe }),
  });
  const stop = new AbortController();
  const loop = { visibilityTimeoutMs, signal: stop.signal, graceMs: closeGraceMs, log };
  const complete = async ({ body, receiveCount }: ReceivedMessage, signal: AbortSignal) => {
    try {
      await worker.completion({ body, signal });
    } catch (error) {
      if (receiveCount < maxCompletionReceives) throw error;
    }
  };
  const loops = [
    runQueueLoop({
      ...loop,
      consumer: queue,
      handle: ({ body }, signal) => worker.handle({ body, signal }),
      concurrency,
    }),
    runQueueLoop({
      ...loop,
      consumer: deadLetters,
      handle: ({ body }, signal) => worker.deadLetter({ body, signal }),
      concurrency: 1,
    }),
    ...(options.completions === undefined
      ? []
      : [
          runQueueLoop({
            ...loop,
            consumer: options.completions,
            handle: complete,
            concurrency: completionConcurrency,
          }),
        ]),
  ];
  const closeEngine = async () => {
    stop.abort();
    await Promise.all(loops);
    await engine.close();
  };
  try {
    const server = await startVerificationServer({
      ingress: createIngress({ signingSecret: createKeptSecret({ readSecret: options.signingSecret }), queue, log }),
      ...(options.page === undefined ? {} : { page: options.page }),
      port: options.port,
      log,
    });
    return {
      url: server.url,
      port: server.port,
      async close() {
        await server.close();
        await closeEngine();
      },
    };
  } catch (thrown) {
    await closeEngine();
    throw thrown;
  }
}
