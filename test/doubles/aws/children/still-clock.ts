/** Replaces this process's clock with one that stands still. The parent process moves it with messages. */
import { setImmediate } from "node:timers/promises";

/** `receivers`: time passes once that many long waits are under way. */
export type SetOn = { ms: number; receivers: number };

/** Shorter timers, such as polls, run in real time. */
const leastMs = 1000;

const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;
const timers = new Map<NodeJS.Timeout, { dueAtMs: number; fire: () => void }>();
let nowMs = 0;

/** Call it before loading anything that reads the time. */
export function stopClock({ atMs }: { atMs: number }): void {
  nowMs = atMs;
  Date.now = () => nowMs;
  globalThis.setTimeout = Object.assign(startLongTimer, startTimer);
  globalThis.clearTimeout = (timer) => {
    timers.delete(timer as NodeJS.Timeout);
    stopTimer(timer);
  };
  process.on("message", async (message) => {
    await setOn(message as SetOn);
    process.send?.("set on");
  });
}

function startLongTimer(
  callback: (...args: unknown[]) => void,
  ms = 0,
  ...args: unknown[]
): NodeJS.Timeout {
  if (ms < leastMs) return startTimer(callback, ms, ...args);
  // Only its handle matters.
  const timer = startTimer(() => {}, 0);
  timers.set(timer, { dueAtMs: nowMs + ms, fire: () => callback(...args) });
  return timer;
}

async function setOn({ ms, receivers }: SetOn): Promise<void> {
  while (timers.size < receivers) await setImmediate();
  nowMs += ms;
  for (const [timer, { dueAtMs, fire }] of [...timers]) {
    if (dueAtMs > nowMs) continue;
    timers.delete(timer);
    fire();
  }
}
