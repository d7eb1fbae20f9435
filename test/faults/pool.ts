/** The processes that can do the same work: some live, some are just being started again. */
import { createProcess, outside, type Process, type Zone } from "./processes.ts";
import { later } from "./virtual-time.ts";

export type Instance<W> = { process: Process; work: W; isBusy: boolean };

export type Pool<W> = {
  /** An instance that lives and has nothing to do; where `mayShare`, any that lives. The least recently used first. */
  find(request: { mayShare: boolean }): Instance<W> | undefined;
};

const restartMs = 1000;

/** `boot` starts what a process does, with an empty memory. */
export function createPool<W>({
  name,
  zone,
  skewMs,
  size,
  boot,
  onStart = () => {},
}: {
  name: string;
  zone: Zone;
  skewMs: number;
  size: number;
  boot: (process: Process) => W;
  onStart?: (instance: Instance<W>) => void;
}): Pool<W> {
  const instances: Instance<W>[] = [];
  let count = 0;

  function start(): void {
    count += 1;
    const process = createProcess({ name: `${name}${count}`, zone, skewMs });
    const instance: Instance<W> = { process, work: boot(process), isBusy: false };
    instances.push(instance);
    process.onDeath.push(() => {
      instances.splice(instances.indexOf(instance), 1);
      outside(() => later({ delayMs: restartMs, run: start }));
    });
    onStart(instance);
  }

  for (let number = 0; number < size; number++) start();
  return {
    find({ mayShare }) {
      const index = instances.findIndex(({ isBusy }) => !isBusy || mayShare);
      const [found] = index < 0 ? [] : instances.splice(index, 1);
      if (found !== undefined) instances.push(found);
      return found;
    },
  };
}
