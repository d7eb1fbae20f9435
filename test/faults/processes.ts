/** Simulated processes: whose code is running is told by the asynchronous context; the code of a dead one never goes on. */
import { AsyncLocalStorage } from "node:async_hooks";

export type Zone = "slack" | "verification" | "execution";

export type Process = {
  name: string;
  zone: Zone;
  alive: boolean;
  /** The difference of its clock to the world's. */
  skewMs: number;
  /** Called once, when it dies. */
  onDeath: (() => void)[];
  /** Calls what is given in this process; made once, since making the context of each call anew is dear. */
  run: <T>(call: () => T) => T;
};

const running = new AsyncLocalStorage<Process>();
const runOutside = AsyncLocalStorage.snapshot();

export function createProcess({
  name,
  zone,
  skewMs,
}: Pick<Process, "name" | "zone" | "skewMs">): Process {
  const process: Process = { name, zone, alive: true, skewMs, onDeath: [], run: (call) => call() };
  process.run = running.run(process, () => AsyncLocalStorage.snapshot());
  return process;
}

/** The process whose code is running; undefined for the world itself. */
export function currentProcess(): Process | undefined {
  return running.getStore();
}

export function within<T>({ process, run }: { process: Process; run: () => T }): T {
  return process.run(run);
}

export function outside<T>(run: () => T): T {
  return runOutside(run);
}

export function kill(process: Process): void {
  if (!process.alive) return;
  process.alive = false;
  for (const tell of process.onDeath.splice(0)) outside(tell);
}

/** A promise that never settles, for a dead process. */
export function never<T>(): Promise<T> {
  return new Promise<T>(() => {});
}
