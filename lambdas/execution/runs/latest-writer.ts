/** Writes the latest of many values, at most one in an interval. */

/** Writes the first value at once, and then the latest value of each interval. */
export function createLatestWriter<T>(options: {
  write: (value: T) => Promise<void>;
  intervalMs: number;
}): LatestWriter<T> {
  const { write, intervalMs } = options;
  let waitingValue: { value: T } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isBusy = false;
  let isClosed = false;

  async function writeLatest(): Promise<void> {
    if (isClosed) return;
    isBusy = waitingValue !== undefined;
    if (waitingValue === undefined) return;
    const { value } = waitingValue;
    waitingValue = undefined;
    await write(value);
    // After a close, a timer would keep the process alive.
    if (!isClosed) timer = setTimeout(writeLatest, intervalMs);
  }

  return {
    put(value) {
      waitingValue = { value };
      if (!isBusy) void writeLatest();
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

type LatestWriter<T> = {
  put(value: T): void;
  /** Stops further writes. */
  close(): void;
};
