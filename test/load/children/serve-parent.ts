/** How a zone's process serves the load run that started it: it tells its memory and its counts, and ends when it is told to. */
import type { FromZone, OperationCounts, ToZone } from "./tell.ts";
import { tell } from "./tell.ts";

type Counts = Omit<Extract<FromZone, { type: "counts" }>, "type" | "operations">;

/** Memory is measured after a collection: start the process with --expose-gc. */
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
  // The parent may have died before anyone listened.
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
