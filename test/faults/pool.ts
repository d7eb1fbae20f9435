/** The processes that can do the same work: some live, some are just being started again. */
import { createProcess, kill, outside, type Process, type Zone } from "./processes.ts";
import { chance, later } from "./virtual-time.ts";
import type { World } from "./world.ts";

export type Instance<W> = { process: Process; work: W; isBusy: boolean };

export type Pool<W> = {
  /** An instance that lives and has nothing to do; where `mayShare`, any that lives. The least recently used first. */
  find(request: { mayShare: boolean }): Instance<W> | undefined;
  /** The instance has nothing to do any more. */
  free(instance: Instance<W>): void;
  /** Called whenever an instance has started or has nothing to do any more. */
  listen(listener: () => void): void;
};

const restartMs = 1000;
/** So far the clocks of a zone's processes are from the zone's own: half of what lease and visibility time-out differ by. */
const spreadMs = 14_000;
const quietSpreadMs = 5000;

/** `boot` starts what a process does, with an empty memory. */
export function createPool<W>({
  world: { engine, isRestless, pools },
  name,
  zone,
  skewMs,
  size,
  boot,
}: {
  world: World;
  name: string;
  zone: Zone;
  skewMs: number;
  size: number;
  boot: (process: Process) => W;
}): Pool<W> {
  const instances: Instance<W>[] = [];
  const listeners: (() => void)[] = [];
  let count = 0;
  let isOff = false;

  function start(): void {
    if (isOff || instances.length >= size) return;
    count += 1;
    const process = createProcess({ name: `${name}${count}`, zone, skewMs: skewMs + aheadMs() });
    const instance: Instance<W> = { process, work: boot(process), isBusy: false };
    instances.push(instance);
    process.onDeath.push(() => {
      instances.splice(instances.indexOf(instance), 1);
      outside(() => later({ delayMs: restartMs, run: start }));
    });
    ring();
  }

  function ring(): void {
    for (const listener of listeners) listener();
  }

  /** A single process has one clock. */
  function aheadMs(): number {
    if (engine.isOneProcess) return 0;
    return isRestless ? spreadMs * (2 * chance() - 1) : quietSpreadMs * (count % 2 === 0 ? 1 : -1);
  }

  function startAll(): void {
    for (let number = 0; number < size; number++) start();
  }

  startAll();
  pools.push({
    zone,
    off() {
      isOff = true;
      for (const { process } of [...instances]) kill(process);
    },
    on() {
      isOff = false;
      startAll();
    },
  });
  return {
    find({ mayShare }) {
      const index = instances.findIndex(({ isBusy }) => !isBusy || mayShare);
      const [found] = index < 0 ? [] : instances.splice(index, 1);
      if (found !== undefined) instances.push(found);
      return found;
    },
    free(instance) {
      instance.isBusy = false;
      ring();
    },
    listen: (listener) => void listeners.push(listener),
  };
}
