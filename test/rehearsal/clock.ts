/** The time of a rehearsal: as fast as the machine's, and moved ahead where a story would have to wait for minutes or hours. */
import type { ChildProcess, SpawnOptions } from "node:child_process";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { setOffset } from "./shift-date.cjs";

let offsetMs = 0;
const children = new Set<ChildProcess>();
const listeners = new Set<() => void>();

/** What processes do at once when time moves, such as renewing a lease, reaches AWS before what others do then. */
const settleMs = 100;
let moved = Promise.resolve();

/** There is one, since there is one `Date`. Timers of at least a second move with it. */
export const clock = {
  async advance(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    moved = promise;
    offsetMs += ms;
    for (const child of children) if (child.connected) child.send({ offsetMs });
    await wait(settleMs);
    setOffset(offsetMs);
    resolve();
    for (const listener of listeners) listener();
  },
  /** While time moves, some are ahead of others: who compares times of two waits for this. */
  settled: () => moved,
  /** Returns what ends it. */
  onAdvance(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

/** How far it is ahead of the machine. */
export const currentOffsetMs = () => offsetMs;

/** How Node starts a process that lives in the time of the rehearsal. */
export const inRehearsalTime = ["--require", join(__dirname, "children/shift-process.cjs")];
export const timeVariables = () => ({ REHEARSAL_OFFSET_MS: String(offsetMs) });
export const withChannel = ["ignore", "pipe", "pipe", "ipc"] satisfies SpawnOptions["stdio"];

/** The process hears of each move. Its end ends that. */
export function keepInTime(child: ChildProcess): void {
  children.add(child);
  child.once("exit", () => children.delete(child));
}
