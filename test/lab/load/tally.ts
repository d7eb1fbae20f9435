/** Counts what has become of the tasks of a load run, and wakes those that wait for a count. */
import type { AskedTask } from "./asker.ts";
import type { AgentEvent } from "./load-result.ts";
import type { ZoneEvent } from "./start-parts.ts";

export type Progress = { asked: number; answered: number; over: number; inExecution: number };

export type Tally = {
  asked: readonly AskedTask[];
  agentEvents: readonly AgentEvent[];
  add(task: AskedTask): void;
  tell(event: ZoneEvent): void;
  progress(): Progress;
  mostAtOnce(): number;
  /** When the last event and the last answer came. */
  lastAtMs(): number;
  lastAnswerAtMs(): number;
  /** Resolves when `holds` returns true. Rejects when the run has failed. */
  until(holds: (progress: Progress) => boolean): Promise<void>;
  /** Rejects all pending waits. Only the first failure counts. */
  fail(error: Error): void;
  /** Returns a line about a run that has come to a standstill. */
  standstill(): string;
};

export function createTally({ now = Date.now }: { now?: () => number } = {}): Tally {
  const askedTasks: AskedTask[] = [];
  const agentEvents: AgentEvent[] = [];
  const answered = new Set<string>();
  const over = new Set<string>();
  const running = new Set<string>();
  let mostAtOnce = 0;
  let lastAtMs = now();
  let lastAnswerAtMs = lastAtMs;
  let failure: Error | undefined;
  let change = Promise.withResolvers<void>();

  function notify(): void {
    change.resolve();
    change = Promise.withResolvers();
  }

  function progress(): Progress {
    return {
      asked: askedTasks.length,
      answered: answered.size,
      over: over.size,
      inExecution: running.size,
    };
  }

  return {
    asked: askedTasks,
    agentEvents,
    add: (task) => void askedTasks.push(task),
    tell({ type, requestId }) {
      lastAtMs = now();
      if (type === "started" || type === "ended") agentEvents.push({ type, requestId });
      if (type === "started") running.add(requestId);
      if (type === "ended") running.delete(requestId);
      if (type === "delivered") {
        answered.add(requestId);
        lastAnswerAtMs = lastAtMs;
      }
      if (type === "cleaned_up") over.add(requestId);
      mostAtOnce = Math.max(mostAtOnce, running.size);
      notify();
    },
    progress,
    mostAtOnce: () => mostAtOnce,
    lastAtMs: () => lastAtMs,
    lastAnswerAtMs: () => lastAnswerAtMs,
    async until(holds) {
      while (failure === undefined && !holds(progress())) await change.promise;
      if (failure !== undefined) throw failure;
    },
    fail(error) {
      failure ??= error;
      notify();
    },
    standstill() {
      const some = askedTasks.filter(({ requestId }) => !over.has(requestId)).slice(0, 5);
      const names = some.map(({ number, requestId }) => `${number} (${requestId})`).join(", ");
      return `Nothing happens any more: ${JSON.stringify(progress())}. Not over, among others: ${names}`;
    },
  };
}
