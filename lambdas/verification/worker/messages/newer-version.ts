/** Leaves a message to a worker of a newer version (docs/how-to/upgrade.md). */
import { leaveToNewerVersion } from "@sekisho/runtime/engine/leave-to-newer.ts";
import { InterruptedStep } from "../step/lease.ts";
import type { StepOptions } from "../step/step.ts";
import { readQueuedIds } from "./queued-ids.ts";

/** `thrown` says why a known message is left. Resolves to false if it has been left for too long. */
export async function leaveMessage(
  { queue, log, now = Date.now }: Pick<StepOptions, "queue" | "log" | "now">,
  { body, thrown }: { body: string; thrown?: unknown },
): Promise<boolean> {
  const notBeforeMs = thrown instanceof InterruptedStep ? thrown.leaseUntilMs : undefined;
  const isLeft = await leaveToNewerVersion({ queue, body, notBeforeMs, nowMs: now() });
  if (isLeft) log.warn("left_to_newer_version", { ...readQueuedIds(body) });
  return isLeft;
}
