/** Writes the latest of many values, and at most one in an interval. */

export type LatestWriter<T> = {
  put(value: T): void;
  /** Nothing is written from now on. */
  close(): void;
};

/** The first value is written at once; of those that come within the interval, the last one is written when it is over. */
export function createLatestWriter<T>({
  write,
  intervalMs,
}: {
  write: (value: T) => Promise<void>;
  intervalMs: number;
}): LatestWriter<T> {
  let waiting: { value: T } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let state: "idle" | "busy" | "closed" = "idle";

  async function writeWaiting(): Promise<void> {
    if (state === "closed") return;
    state = waiting === undefined ? "idle" : "busy";
    if (waiting === undefined) return;
    const { value } = waiting;
    waiting = undefined;
    await write(value);
    timer = setTimeout(writeWaiting, intervalMs);
  }

  return {
    put(value) {
      waiting = { value };
      if (state === "idle") void writeWaiting();
    },
    close() {
      state = "closed";
      clearTimeout(timer);
    },
  };
}
