/** Lets `Date` and long timers run ahead of the machine, in a process or in the realm of a test file. */
const RealDate = globalThis.Date;
const { setTimeout: startTimer, clearTimeout: stopTimer } = globalThis;

/** Shorter timers are polls and the like, which run at the speed of the machine. */
const leastMs = 1000;

let offsetMs = 0;
/** By the handle of the machine's timer. */
const timers = new Map();

const now = () => RealDate.now() + offsetMs;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args) => (args.length === 0 ? new target(now()) : new target(...args)),
  get: (target, name) => (name === "now" ? now : target[name]),
});

function setShiftedTimeout(callback, ms, ...args) {
  if (!(ms >= leastMs)) return startTimer(callback, ms, ...args);
  const run = () => {
    timers.delete(handle);
    callback(...args);
  };
  const handle = startTimer(run, ms);
  timers.set(handle, { dueAtMs: now() + ms, run });
  return handle;
}

globalThis.setTimeout = Object.assign(setShiftedTimeout, startTimer);
globalThis.clearTimeout = (handle) => {
  timers.delete(handle);
  stopTimer(handle);
};

/** Moves the clock forward only. Timers that become due fire at once, in order of their time. */
exports.setOffset = (ms) => {
  offsetMs = Math.max(offsetMs, ms);
  const due = [...timers]
    .filter(([, { dueAtMs }]) => dueAtMs <= now())
    .sort(([, a], [, b]) => a.dueAtMs - b.dueAtMs);
  for (const [handle, { run }] of due) {
    if (!timers.has(handle)) continue;
    stopTimer(handle);
    run();
  }
};

/** Shifts `node:timers/promises` too. Only for a process of its own, because all realms of a process share that module. */
exports.shiftWaiting = () => {
  const promises = require("node:timers/promises");
  promises.setTimeout = (ms, value, { signal, ref = true } = {}) =>
    new Promise((resolve, reject) => {
      const abort = () => {
        globalThis.clearTimeout(handle);
        const error = new Error("The operation was aborted", { cause: signal.reason });
        reject(Object.assign(error, { name: "AbortError", code: "ABORT_ERR" }));
      };
      const handle = globalThis.setTimeout(() => {
        signal?.removeEventListener("abort", abort);
        resolve(value);
      }, ms);
      if (!ref) handle.unref();
      if (signal?.aborted) abort();
      else signal?.addEventListener("abort", abort, { once: true });
    });
};
