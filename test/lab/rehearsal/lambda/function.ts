/** A function as Lambda runs it. Each concurrent invocation has an instance, which is kept warm. */
import { clock } from "../clock.ts";
import type { LambdaFunction } from "../template/wiring.ts";
import { type Concurrency, createConcurrency } from "./concurrency.ts";
import { type Instance, type Outcome, startInstance } from "./instance.ts";
import { continueChain, mostInChain } from "./lineage.ts";

export type RunningFunction = {
  fn: LambdaFunction;
  /**
   * Is throttled where the account has no concurrency left, and waits where this machine cannot run more. Never rejects. `traces`
   * are the trace headers of the event's messages: Lambda refuses an invocation too many of one chain. `invokedArn` may be an
   * alias.
   */
  invoke(event: unknown, traces?: readonly string[], invokedArn?: string): Promise<Outcome>;
  /** Ends warm instances. Those at work end when they are done. */
  cool(): Promise<void>;
  /** Kills an instance at work. Its invocation fails, without a call of `onFailure`. Returns false if none is at work. */
  kill(): Promise<boolean>;
  close(): Promise<void>;
};

/** The bound of the machine, not of Lambda. */
const mostInstances = 4;

/** `onFailure` gets every failed invocation, unless its instance was killed. */
export function runFunction({
  fn,
  environment,
  concurrency = createConcurrency(),
  measure = () => {},
  onStart,
  onLine,
  onFailure,
}: {
  fn: LambdaFunction;
  environment: Record<string, string>;
  /** All functions of a rehearsal share it. */
  concurrency?: Concurrency;
  /** Gets each value of a metric of Lambda. */
  measure?: (metric: string, value: number) => void;
  onStart: () => void;
  onLine: (line: string) => void;
  onFailure: (error: string) => void;
}): RunningFunction {
  const idle: Instance[] = [];
  const all = new Set<Instance>();
  const atWork = new Set<Instance>();
  const killed = new Set<Instance>();
  const last = new Set<Instance>();
  const queue: (() => void)[] = [];
  let running = 0;

  async function take(): Promise<Instance> {
    if (running >= mostInstances) await new Promise<void>((resolve) => queue.push(resolve));
    running++;
    const warm = idle.splice(0).filter((instance) => !instance.isGone());
    const chosen = warm.pop();
    idle.push(...warm);
    if (chosen !== undefined) {
      atWork.add(chosen);
      return chosen;
    }
    onStart();
    const instance = await startInstance({ fn, environment, onLine });
    all.add(instance);
    atWork.add(instance);
    return instance;
  }

  return {
    fn,
    async invoke(event, traces = [], invokedArn = fn.arn) {
      const { trace, invocation } = continueChain({ traces, functionArn: fn.arn });
      if (invocation > mostInChain && !fn.allowsLoops) {
        const error = `Lambda refused invocation ${invocation} of one chain (RecursiveInvocationsDropped)`;
        measure("RecursiveInvocationsDropped", 1);
        onFailure(error);
        return { ok: false, error };
      }
      const leave = concurrency.enter(fn);
      measure("Throttles", leave === undefined ? 1 : 0);
      if (leave === undefined) return { ok: false, error: "Rate Exceeded.", isThrottled: true };
      const instance = await take();
      // An invocation that starts while the clock moves would lose that much of its own time.
      await clock.settled();
      const beganMs = performance.now();
      const outcome = await instance.invoke(event, { trace, invokedArn });
      measure("Invocations", 1);
      measure("Errors", outcome.ok ? 0 : 1);
      measure("Duration", performance.now() - beganMs);
      atWork.delete(instance);
      running--;
      leave();
      if (last.delete(instance)) await instance.close();
      if (!instance.isGone()) idle.push(instance);
      queue.shift()?.();
      if (!outcome.ok && !killed.has(instance)) onFailure(outcome.error);
      return outcome;
    },
    async kill() {
      const [instance] = atWork;
      if (instance === undefined) return false;
      killed.add(instance);
      await instance.close();
      return true;
    },
    async cool() {
      for (const instance of atWork) last.add(instance);
      await Promise.all(idle.splice(0).map((instance) => instance.close()));
    },
    async close() {
      await Promise.all([...all].map((instance) => instance.close()));
    },
  };
}
