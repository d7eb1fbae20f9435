/** Runs the tasks of a batch from SQS, each to its end, delivers their push notifications and looks after them, within the function's time. */
import * as z from "zod";
import { SekishoError } from "../../contracts/errors.ts";
import type { Log } from "../shared/log.ts";
import { queuedIds } from "../shared/queued-ids.ts";
import type { PushDelivery } from "./host/a2a/push-delivery.ts";
import { causeKind } from "./host/cause-kind.ts";
import type { ExecutionWorker } from "./host/execution-worker.ts";
import { parseTaskMessage } from "./host/task-message.ts";

type Context = { getRemainingTimeInMillis(): number };
type BatchResponse = { batchItemFailures: { itemIdentifier: string }[] };
export type WorkerHandler = (event: unknown, context: Context) => Promise<BatchResponse>;

const eventSchema = z.object({ Records: z.array(z.object({ messageId: z.string(), body: z.string() })) });

/** What storing the outcome of an agent that was stopped may take before Lambda ends the function. */
const stopBeforeEndMs = 20_000;

/**
 * A record that fails is named, and its message comes again; the others are finished. Without `delivery` a notification is a
 * failed record. Throws for what is no SQS event.
 */
export function workerHandler({
  worker,
  delivery,
  settled = async () => {},
  log,
}: {
  worker: ExecutionWorker;
  delivery?: PushDelivery | undefined;
  /** Awaited before the function may be frozen. */
  settled?: () => Promise<void>;
  log: Log;
}): WorkerHandler {
  async function handleOne({ body, signal }: { body: string; signal: AbortSignal }): Promise<void> {
    const message = parseTaskMessage(body);
    if ("taskId" in message) return worker.run({ ...message, signal });
    if ("look" in message) return worker.look(message.look);
    if (delivery === undefined) throw new SekishoError("push_not_supported");
    return delivery.deliver({ ...message.push, signal });
  }

  return async (event, context) => {
    const { Records: records } = eventSchema.parse(event);
    const ending = new AbortController();
    const timer = setTimeout(() => ending.abort(), context.getRemainingTimeInMillis() - stopBeforeEndMs);
    const results = await Promise.allSettled(records.map(({ body }) => handleOne({ body, signal: ending.signal })));
    clearTimeout(timer);
    const batchItemFailures = records.flatMap(({ messageId: itemIdentifier, body }, index) => {
      const result = results[index];
      if (result?.status !== "rejected") return [];
      log.error("task_message_failed", { ...queuedIds(body), cause_kind: causeKind(result.reason) });
      return [{ itemIdentifier }];
    });
    await settled();
    return { batchItemFailures };
  };
}
