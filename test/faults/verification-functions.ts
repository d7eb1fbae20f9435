/** The Verification zone as functions with instances of their own, as on AWS (lambda.ts, dead-letter-lambda.ts). */
import type { Ingress } from "../../lambdas/verification/ingress/ingress.ts";
import {
  endingSignal,
  handleBatch,
  parseBatch,
  retryDelaySeconds,
  type SqsRecord,
} from "../../lambdas/verification/worker/batch.ts";

import type { Worker } from "../../lambdas/verification/worker/worker.ts";
import { consume, type Handler, type Source } from "./event-source.ts";
import { createPool, type Pool } from "./pool.ts";
import { createSimQueue } from "./sim-queue.ts";
import type { ZoneParts } from "./verification-parts.ts";

/** As the stack has it: the lease and 15 s, and six times that until a message comes again. */
const beyondLeaseMs = 15_000;

type Handle = (request: { worker: Worker; record: SqsRecord; signal: AbortSignal }) => Promise<void>;

export function startFunctions(parts: ZoneParts): Pool<Ingress> {
  const { world, config, skewMs, log, queue, deadLetters, completions, bootWorker, bootIngress } = parts;
  const archive = createSimQueue({ world, point: "queue.send", label: "archived " });
  const zone = { world, zone: "verification", skewMs, size: 2 } as const;
  const timeLimitMs = config.limits.leaseMs + beyondLeaseMs;
  const isOwn = ({ eventSourceARN }: SqsRecord) => eventSourceARN === "queue";

  function createHandler(handle: Handle): Handler {
    const worker = bootWorker();
    return async ({ event, context, deliveries }) => {
      const { signal, end } = endingSignal({ context });
      const response = await handleBatch({
        batch: parseBatch(event).map((record) => (isOwn(record) ? record : { ...record, messageAttributes: {} })),
        handle: (record) => handle({ worker, record, signal }),
        failed: async (record) => {
          const delivery = deliveries.get(record.messageId);
          if (delivery !== undefined && isOwn(record))
            queue.hideFor({ delivery, ms: 1000 * retryDelaySeconds(record) });
        },
        queue: queue.sender,
        log,
      });
      end();
      return response;
    };
  }

  function startFunction({
    name,
    handle,
    sources,
  }: {
    name: string;
    handle: Handle;
    sources: readonly Source[];
  }): void {
    const pool = createPool({ ...zone, name, boot: () => createHandler(handle) });
    const visibilityTimeoutMs = 6 * timeLimitMs;
    for (const source of sources) consume({ world, ...source, pool, visibilityTimeoutMs, timeLimitMs });
  }

  startFunction({
    name: "worker ",
    handle({ worker, record, signal }) {
      const message = { body: record.body, signal };
      return isOwn(record) ? worker.handle(message) : worker.completion(message);
    },
    sources: [
      { queue, name: "queue", arn: "queue" },
      { queue: completions, name: "push", arn: "completions" },
    ],
  });
  startFunction({
    name: "undertaker ",
    handle({ worker, record: { body, group }, signal }) {
      const keep = () => archive.sender.send({ body, ...(group === undefined ? {} : { group }) });
      return worker.deadLetter({ body, signal, keep });
    },
    sources: [{ queue: deadLetters, name: "queue", arn: "dead-letters" }],
  });
  return createPool<Ingress>({ ...zone, name: "ingress ", boot: bootIngress });
}
