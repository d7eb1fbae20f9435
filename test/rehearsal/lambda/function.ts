/** A function as Lambda runs it: an instance for each invocation at a time, kept warm, started where none is free. */
import type { LambdaFunction } from "../template/wiring.ts";
import { type Instance, type Outcome, startInstance } from "./instance.ts";

export type RunningFunction = {
  fn: LambdaFunction;
  /** Waits where as many run as are wanted at most. Never rejects. */
  invoke(event: unknown): Promise<Outcome>;
  /** The next invocation finds no warm instance. */
  cool(): Promise<void>;
  close(): Promise<void>;
};

/** Two cores do not carry more. */
const mostInstances = 4;

/** `onFailure` hears of every invocation that did not end well. */
export function runFunction({
  fn,
  environment,
  onStart,
  onLine,
  onFailure,
}: {
  fn: LambdaFunction;
  environment: Record<string, string>;
  onStart: () => void;
  onLine: (line: string) => void;
  onFailure: (error: string) => void;
}): RunningFunction {
  const idle: Instance[] = [];
  const all = new Set<Instance>();
  const queue: (() => void)[] = [];
  let running = 0;

  async function take(): Promise<Instance> {
    if (running >= mostInstances) await new Promise<void>((resolve) => queue.push(resolve));
    running++;
    const warm = idle.splice(0).filter((instance) => !instance.isGone());
    const chosen = warm.pop();
    idle.push(...warm);
    if (chosen !== undefined) return chosen;
    onStart();
    const instance = await startInstance({ fn, environment, onLine });
    all.add(instance);
    return instance;
  }

  return {
    fn,
    async invoke(event) {
      const instance = await take();
      const outcome = await instance.invoke(event);
      running--;
      if (!instance.isGone()) idle.push(instance);
      queue.shift()?.();
      if (!outcome.ok) onFailure(outcome.error);
      return outcome;
    },
    async cool() {
      await Promise.all(idle.splice(0).map((instance) => instance.close()));
    },
    async close() {
      await Promise.all([...all].map((instance) => instance.close()));
    },
  };
}
