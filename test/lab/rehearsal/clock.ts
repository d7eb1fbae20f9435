/** The time of a rehearsal. It runs with the machine's, and moves ahead where a story would have to wait for minutes or hours. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { endWithUs } from "../../tooling/reaper.ts";
import { setOffset } from "./shift-date.cjs";

let offsetMs = 0;
const children = new Set<ChildProcess>();
const listeners = new Set<() => void>();

let moved = Promise.resolve();

/** The latest moves, by the time of the machine. */
let moves: { atMs: number; byMs: number }[] = [];
const underWayMs = 30_000;

/** There is one clock, because there is one `Date`. Timers of at least a second move with it. */
export const clock = {
  async advance(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    moved = promise;
    offsetMs += ms;
    moves = [...moves.filter(isRecent), { atMs: performance.now(), byMs: ms }];
    // Requests that a child process makes when its time moves, such as renewing a lease, reach AWS before anything that happens here.
    await Promise.all([...children].map(moveChild));
    setOffset(offsetMs);
    resolve();
    for (const listener of listeners) listener();
  },
  /** What the time would be without the latest moves: a request that was under way then was signed in that time. */
  timesBeforeMoves(): number[] {
    let timeMs = Date.now();
    return moves
      .filter(isRecent)
      .toReversed()
      .map(({ byMs }) => {
        timeMs -= byMs;
        return timeMs;
      });
  },
  /** Resolves when all processes have the same time again. Wait for it before comparing times of two processes. */
  settled: () => moved,
  /** Returns a function that removes the listener. */
  onAdvance(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },
};

const frozen = new WeakSet<ChildProcess>();

/** Stops the process where it is. It hears of moves of the clock when it goes on. */
export function freeze(child: ChildProcess): void {
  frozen.add(child);
  child.kill("SIGSTOP");
  child.emit("freeze");
}

export function thaw(child: ChildProcess): void {
  frozen.delete(child);
  child.kill("SIGCONT");
}

const endsOfMove = ["exit", "disconnect", "freeze"];

/** Resolves when the child has said that its time has moved, or will do nothing more for now. */
function moveChild(child: ChildProcess): Promise<void> {
  if (!child.connected) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const wanted = offsetMs;
  const hear = (message: unknown) => {
    if ((Object(message) as { offsetMs?: number }).offsetMs === wanted) resolve();
  };
  const listeners = [
    ["message", hear],
    ...endsOfMove.map((name) => [name, () => resolve()] as const),
  ] as const;
  for (const [name, listener] of listeners) child.on(name, listener);
  child.send({ offsetMs }, (error) => error && resolve());
  if (frozen.has(child)) resolve();
  return promise.finally(() => {
    for (const [name, listener] of listeners) child.off(name, listener);
  });
}

function isRecent({ atMs }: { atMs: number }): boolean {
  return performance.now() - atMs < underWayMs;
}

/** The difference to the machine's clock. */
export const currentOffsetMs = () => offsetMs;

/** Node's arguments and variables for a process that starts in the time of the rehearsal. */
export const inRehearsalTime = ["--require", join(__dirname, "children/shift-process.cjs")];
export const timeVariables = () => ({ REHEARSAL_OFFSET_MS: String(offsetMs) });

/** Starts Node in the time of the rehearsal. The process hears of each move of the clock, and ends with this process. */
export function startProcess({
  args,
  environment,
  folder,
  onLine,
}: {
  args: string[];
  /** All variables of the process. It inherits none. */
  environment: Record<string, string>;
  folder?: string;
  /** Gets each line of its output. */
  onLine: (line: string) => void;
}): ChildProcess {
  const child = spawn(process.execPath, [...inRehearsalTime, ...args], {
    env: { ...environment, ...timeVariables() },
    cwd: folder,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  children.add(child);
  child.once("exit", () => children.delete(child));
  endWithUs(child);
  for (const input of [child.stdout, child.stderr])
    if (input !== null)
      createInterface({ input }).on("line", (line) => line !== "" && onLine(line));
  return child;
}
