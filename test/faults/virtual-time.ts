/**
 * Virtual time: the clock, the timers and the chance of this whole process are replaced, so that nothing waits and
 * every run can be repeated. `installVirtualTime` is called before any module of the product is loaded.
 */
import { createRequire, syncBuiltinESMExports } from "node:module";
import { currentProcess, type Process, within } from "./processes.ts";

type Timer = {
  atMs: number;
  order: number;
  process: Process | undefined;
  run: (() => void) | undefined;
};

let nowMs = 0;
let order = 0;
let events = 0;
let random = (): number => 0.5;
let timers = newHeap();

const real = {
  setTimeout,
  clearTimeout,
  nextTick: process.nextTick.bind(process),
  now: performance.now.bind(performance),
};

function newHeap() {
  return createHeap<Timer>({
    isBefore: (a, b) => a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order),
  });
}

/** A new world begins; what the former one left waiting never happens. */
export function startTime({ atMs, chance }: { atMs: number; chance: () => number }): void {
  nowMs = atMs;
  order = 0;
  events = 0;
  random = chance;
  timers = newHeap();
}

/** The world's own time, without any process's skew. */
export function worldMs(): number {
  return nowMs;
}

/** The number of the event that is happening: between one and the next everything goes on that can by itself. */
export function currentEvent(): number {
  return events;
}

/** Time that really passes, for measuring. */
export function realMs(): number {
  return real.now();
}

export function chance(): number {
  return random();
}

/** `run` happens in the process that is running now, unless that has died by then. */
export function later({ delayMs, run }: { delayMs: number; run: () => void }): { cancel(): void } {
  const wait = Number.isFinite(delayMs) ? Math.max(0, delayMs) : 0;
  const timer: Timer = { atMs: nowMs + wait, order: order++, process: currentProcess(), run };
  timers.push(timer);
  return {
    cancel() {
      timer.run = undefined;
    },
  };
}

/** Lets everything happen until nothing is left to happen. False where there is no end in sight. */
export async function runUntilIdle({
  maxEvents,
  endMs,
}: {
  maxEvents: number;
  endMs: number;
}): Promise<boolean> {
  await settled();
  while (events < maxEvents) {
    const timer = timers.pop();
    if (timer === undefined) return true;
    const { process, run, atMs } = timer;
    if (run === undefined || process?.alive === false) continue;
    if (atMs > endMs) return false;
    events += 1;
    nowMs = atMs;
    if (process === undefined) run();
    else within({ process, run });
    await settled();
  }
  return false;
}

/** Resolves when no promise is left that could go on by itself: ticks come after all of them. */
function settled(): Promise<void> {
  return new Promise((resolve) => real.nextTick(resolve));
}

const unheard: string[] = [];

/** The kinds of rejections that nobody has handled since the last call. Takes one real turn of the event loop, in which they are found. */
export async function unheardRejections(): Promise<string[]> {
  await new Promise((resolve) => setImmediate(resolve));
  return unheard.splice(0);
}

function virtualNow(): number {
  return Math.floor(nowMs + (currentProcess()?.skewMs ?? 0));
}

type Callback = (...args: unknown[]) => void;

/** As long as it looks like a timer of node:timers. */
const timerMethods = {
  ref() {
    return this;
  },
  unref() {
    return this;
  },
  hasRef: () => true,
  [Symbol.toPrimitive]: () => 0,
};

function timerObject(cancel: () => void) {
  return { ...timerMethods, cancel };
}

function virtualSetTimeout(callback: Callback, delayMs = 0, ...args: unknown[]) {
  return timerObject(later({ delayMs: Math.max(1, delayMs), run: () => callback(...args) }).cancel);
}

function virtualSetInterval(callback: Callback, delayMs = 0, ...args: unknown[]) {
  let current = { cancel() {} };
  const again = () => {
    current = later({
      delayMs: Math.max(1, delayMs),
      run() {
        again();
        callback(...args);
      },
    });
  };
  again();
  return timerObject(() => current.cancel());
}

function virtualClear(timer: { cancel?: () => void } | undefined): void {
  timer?.cancel?.();
}

const timedOut = new DOMException("The operation was aborted due to timeout", "TimeoutError");
const aborted = new DOMException("The operation was aborted", "AbortError");

function virtualTimeoutSignal(delayMs: number): AbortSignal {
  const controller = new AbortController();
  later({ delayMs, run: () => controller.abort(timedOut) });
  return controller.signal;
}

/** Node.js would keep those signals for ever that are waited for by the code of dead processes. */
function virtualAnySignal(signals: Iterable<AbortSignal>): AbortSignal {
  const controller = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) controller.abort(signal.reason);
    else signal.addEventListener("abort", () => controller.abort(signal.reason), { once: true });
  }
  return controller.signal;
}

function virtualWait<T>(
  delayMs = 0,
  value?: T,
  { signal }: { signal?: AbortSignal } = {},
): Promise<T | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<T | undefined>();
  const fail = () => reject(aborted);
  if (signal?.aborted) fail();
  else {
    const timer = later({
      delayMs: Math.max(1, delayMs),
      run() {
        signal?.removeEventListener("abort", abort);
        resolve(value);
      },
    });
    const abort = () => {
      timer.cancel();
      fail();
    };
    signal?.addEventListener("abort", abort, { once: true });
  }
  return promise;
}

/** For the rest of this process's life. */
export function installVirtualTime(): void {
  Object.assign(globalThis, {
    setTimeout: virtualSetTimeout,
    clearTimeout: virtualClear,
    setInterval: virtualSetInterval,
    clearInterval: virtualClear,
  });
  Date.now = virtualNow;
  performance.now = () => nowMs;
  AbortSignal.timeout = virtualTimeoutSignal;
  AbortSignal.any = virtualAnySignal;
  Math.random = () => random();
  const load = createRequire(import.meta.url);
  Object.assign(load("node:timers/promises"), { setTimeout: virtualWait });
  Object.assign(load("node:timers"), { setTimeout: virtualSetTimeout, clearTimeout: virtualClear });
  syncBuiltinESMExports();
  process.on("unhandledRejection", (error) =>
    unheard.push(error instanceof Error ? error.message : typeof error),
  );
  // Nobody reads where the many simulated failures were made, and finding out is dear.
  Error.stackTraceLimit = 0;
}

export type Heap<T> = { push(item: T): void; pop(): T | undefined; size(): number };

function createHeap<T>({ isBefore }: { isBefore: (a: T, b: T) => boolean }): Heap<T> {
  const items: T[] = [];

  /** Puts the item where it belongs between that place and the top. */
  function rise(item: T, from: number): void {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      const above = items[parent] as T;
      if (!isBefore(item, above)) break;
      items[place] = above;
      place = parent;
    }
    items[place] = item;
  }

  /** Puts the item where it belongs below the top. */
  function sink(item: T): void {
    const { length } = items;
    let place = 0;
    for (let child = 1; child < length; child = 2 * place + 1) {
      if (child + 1 < length && isBefore(items[child + 1] as T, items[child] as T)) child += 1;
      if (!isBefore(items[child] as T, item)) break;
      items[place] = items[child] as T;
      place = child;
    }
    items[place] = item;
  }

  return {
    push: (item) => rise(item, items.length),
    pop() {
      const first = items[0];
      const last = items.pop();
      if (last !== undefined && items.length > 0) sink(last);
      return first;
    },
    size: () => items.length,
  };
}
