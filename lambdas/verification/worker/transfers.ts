/** Runs work that transfers files. A task that finds no transfer free is put back, so that it does not wait in a slot of the process. */

import type { DestinationSlots } from "../slots.ts";
import type { Task } from "../task/task.ts";

/** No transfer is free. There likely is one after `delayMs`. */
export class TransferBusy extends Error {
  readonly delayMs: number;

  constructor(delayMs: number) {
    super("No transfer is free.");
    this.name = "TransferBusy";
    this.delayMs = delayMs;
  }
}

/** Rejects as `work` does, or with a TransferBusy. */
export type InTransfer = <T>(request: { task: Task; work: () => Promise<T> }) => Promise<T>;

export function createInTransfer(
  slotsOf: (destination: string | undefined) => DestinationSlots,
): InTransfer {
  return async ({ task, work }) => {
    const slot = await slotsOf(task.call?.destination).transfer.take();
    if ("delayMs" in slot) throw new TransferBusy(slot.delayMs);
    try {
      return await work();
    } finally {
      slot.release();
    }
  };
}
