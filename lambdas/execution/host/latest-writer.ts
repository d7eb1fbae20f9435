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
  let isBusy = false;
  let isClosed = false;

  async function writeWaiting(): Promise<void> {
    if (isClosed) return;
    isBusy = waiting !== undefined;
    if (waiting === undefined) return;
    const { value } = waiting;
    waiting = undefined;
    await write(value);
    // It may have been closed meanwhile: a timer would keep the process alive.
    if (!isClosed) timer = setTimeout(writeWaiting, intervalMs);
  }

  return {
    put(value) {
      waiting = { value };
      if (!isBusy) void writeWaiting();
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
