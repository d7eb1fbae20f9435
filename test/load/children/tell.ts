/** What the zones' processes and the load run's say to each other. */

export type Memory = { heapBytes: number; rssBytes: number };

/** Of one kind of engine operation, by the state of its task: see counting-engine.ts. */
export type OperationCounts = Record<string, number>;

export type FromZone =
  | { type: "ready"; url: string }
  | { type: "memory"; memory: Memory }
  | { type: "counts"; operations: OperationCounts; calls: Record<string, number>; failed: Record<string, number> }
  /** The agent began or ended its work. */
  | { type: "started" | "ended"; requestId: string }
  /** The answer is in the thread, or the thread was looked at once more and the task is over. */
  | { type: "delivered" | "cleaned_up"; requestId: string };

export type ToZone = { type: "memory" | "counts" | "close" };

export function tell(message: FromZone): void {
  process.send?.(message);
}
