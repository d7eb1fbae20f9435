/** What the process of a zone and the load run that started it exchange: settings, messages, and the order to end. */

export type Memory = { heapBytes: number; rssBytes: number };

/** Counts of engine operations by state and kind (counting-engine.ts). */
export type OperationCounts = Record<string, number>;

export type FromZone =
  | { type: "ready"; url: string }
  | { type: "memory"; memory: Memory }
  | {
      type: "counts";
      operations: OperationCounts;
      calls: Record<string, number>;
      failed: Record<string, number>;
    }
  /** The agent started or ended. */
  | { type: "started" | "ended"; requestId: string }
  /** The answer was delivered, or the task was cleaned up and is over. */
  | { type: "delivered" | "cleaned_up"; requestId: string };

export type ToZone = { type: "memory" | "counts" | "close" };

export function tell(message: FromZone): void {
  process.send?.(message);
}

/** `config` is that of the configuration file, `file` the database of the zone. */
type ZoneSettings = { config: unknown; file: string };

export type ExecutionSettings = ZoneSettings & { atOnce: number; quietMs: number };

export type VerificationSettings = ZoneSettings & {
  executionUrl: string;
  slackApiUrl: string;
  signingSecret: string;
  botToken: string;
  /** The share of calls to the Execution zone that fail. */
  failing: number;
  seed: number;
};

/** Reads the JSON of the only argument of a zone's process. */
export function readSettings<T extends ZoneSettings>(): T {
  return JSON.parse(process.argv[2] ?? "") as T;
}

type Counts = Omit<Extract<FromZone, { type: "counts" }>, "type" | "operations">;

/** Answers the parent. Memory is measured after a garbage collection, which needs --expose-gc. */
export function serveParent({
  operations,
  counts,
  close,
}: {
  operations: OperationCounts;
  counts: Counts;
  close: () => Promise<void>;
}): void {
  process.once("disconnect", () => process.exit(1));
  // The parent may have died before the listener was there.
  if (!process.connected) process.exit(1);
  process.on("message", ({ type }: ToZone) => {
    if (type === "counts") tell({ type, operations, ...counts });
    else if (type === "memory") {
      globalThis.gc?.();
      const { heapUsed, rss } = process.memoryUsage();
      tell({ type, memory: { heapBytes: heapUsed, rssBytes: rss } });
    } else {
      void close().finally(() => process.exit(0));
    }
  });
}
