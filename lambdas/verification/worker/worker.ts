/** The worker: takes one queue message and moves one task one step (docs/explanation/architecture.md, "The path of one message"). */

import { SekishoError } from "@sekisho/contracts/errors.ts";
import { isNewerRecord } from "@sekisho/runtime/engine/record-version.ts";
import {
  isInteraction,
  isNewerMessage,
  parseQueueMessage,
  type QueueMessage,
} from "../task/messages.ts";
import { createHandleCompletion } from "./messages/completion.ts";
import { createHandleDeadLetter } from "./messages/dead-letter.ts";
import { handleMessage } from "./messages/handle.ts";
import { leaveMessage } from "./messages/newer-version.ts";
import type { WorkerOptions } from "./messages/worker-options.ts";

type Incoming = { body: string; signal?: AbortSignal };

export type Worker = {
  /**
   * Resolves when the message is handled and may be removed. Rejects if it must be delivered again. `signal` ends the running act, whose
   * effect the next wake-up finds out.
   */
  handle(request: Incoming): Promise<void>;
  /**
   * Handles a message that the queue gave up on: fails its task, or tries it again later. Calls `keep` before any change if an operator
   * should get the message, even an unparsable one. Rejects if the message must be delivered again, so `keep` may be called twice.
   */
  deadLetter(request: Incoming & { keep?: () => Promise<void> }): Promise<void>;
  /** Handles a message of the completion queue. Rejects if the store is unavailable. The message may then be dropped, since polls suffice. */
  completion(request: Incoming): Promise<void>;
};

export function createWorker(options: WorkerOptions): Worker {
  const { log } = options;
  const { runAct: _runAct, stopSession: _stopSession, ...actless } = options;
  return {
    async handle({ body, signal }) {
      const message = parseQueueMessage(body);
      if (message === undefined) {
        if (isNewerMessage(body) && (await leaveMessage(options, { body }))) return;
        // It becomes a dead letter, which an operator sees.
        log.error("queue_message_refused", { reason: "invalid_request", bytes: body.length });
        throw new SekishoError("invalid_request");
      }
      await handleQueueMessage(options, message, signal).catch(async (error: unknown) => {
        if (isNewerRecord(error) && (await leaveMessage(options, { body, thrown: error }))) return;
        throw error;
      });
    },
    deadLetter: createHandleDeadLetter(actless),
    completion: createHandleCompletion(options),
  };
}

async function handleQueueMessage(
  options: WorkerOptions,
  message: QueueMessage,
  signal: AbortSignal | undefined,
): Promise<void> {
  const stop = signal ?? AbortSignal.timeout(options.leaseMs);
  if (isInteraction(message))
    return options.handleInteraction({ interaction: message, signal: stop });
  return message.type === "vote_given"
    ? options.passVote({ given: message, signal: stop })
    : handleMessage(options, message, signal);
}
