/** Assembles the acts that the task machine returns (`acts/`). Each act has effects outside of the record, and ends in one event. */

import { FetchTimedOut, FileRefused } from "../files/files.ts";
import { SlackError } from "../slack/api/slack.ts";
import { createDestinationSlots } from "../slots.ts";
import type { Act, TaskEvent } from "../task/events.ts";
import { createCallActs } from "./acts/call.ts";
import { createCleanupActs } from "./acts/cleanup.ts";
import { createDeliverActs } from "./acts/deliver.ts";
import type { ActFamily, ActOptions, ActParts } from "./acts/parts.ts";
import { createPermitActs } from "./acts/permit.ts";
import { createPrepareActs } from "./acts/prepare.ts";
import { createProgressActs } from "./acts/progress.ts";
import { createQuestionActs } from "./acts/question.ts";
import { createThreadActs } from "./acts/thread.ts";
import { createCallRunner } from "./calls.ts";
import { causeKindOf, isDataFailure } from "./data-failures.ts";
import { ReadLimited } from "./own-posts.ts";
import type { ActRequest, ActResult, RunAct, StopSession } from "./step/step.ts";
import { createInTransfer, TransferBusy } from "./transfers.ts";

export function createActs(options: ActOptions): { runAct: RunAct; stopSession: StopSession } {
  const { files, destinations, slots, findEmail, newId, now = Date.now, stopping } = options;
  const slotsOf = createDestinationSlots({ destinations, slots, transfers: files.transfers, now });
  const calls = createCallRunner({ destinations, slotsOf, findEmail, newId, now, stopping });
  const parts: ActParts = { ...options, now, calls, inTransfer: createInTransfer(slotsOf) };
  const acts: ActFamily<Act["type"]> = {
    ...createPermitActs(parts),
    ...createThreadActs(parts),
    ...createPrepareActs(parts),
    ...createCallActs(parts),
    ...createQuestionActs(parts),
    ...createProgressActs(parts),
    ...createDeliverActs(parts),
    ...createCleanupActs(parts),
  };

  async function runAct<T extends Act["type"]>(
    request: ActRequest<Extract<Act, { type: T }>>,
  ): Promise<ActResult> {
    const { act } = request;
    const run: ActFamily<T>[T] = acts[act.type];
    return run(request).catch((error: unknown) => ({
      event: toFailure(act, { error, nowMs: now() }),
    }));
  }

  return { runAct, stopSession: calls.stopSession };
}

/**
 * Returns the event of a failure that a repetition of the act does not mend at once. Throws every other failure: the step ends, and the
 * queue delivers the message again.
 */
function toFailure(act: Act, { error, nowMs }: { error: unknown; nowMs: number }): TaskEvent {
  if (error instanceof SlackError) {
    const { kind, retryAfterMs } = error;
    const isReadLimited = error instanceof ReadLimited;
    return { type: "slack_failed", nowMs, act: act.type, kind, retryAfterMs, isReadLimited };
  }
  if (isDataFailure(error)) return { type: "step_failed", nowMs, causeKind: causeKindOf(error) };
  if (error instanceof TransferBusy)
    return { type: "transfer_busy", nowMs, delayMs: error.delayMs };
  if (error instanceof FetchTimedOut && act.type === "upload")
    return { type: "fetch_timed_out", index: act.index };
  if (!(error instanceof FileRefused)) throw error;
  if (act.type === "upload") return { type: "uploaded", index: act.index, fileId: undefined };
  return { type: "file_refused", outcome: error.outcome };
}
