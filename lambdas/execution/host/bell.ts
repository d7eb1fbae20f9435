/** Tells whoever waits in this process that a task's record changed; other processes find out by reading the store. */
import type { ExecutionTask } from "./execution-task.ts";

type Listener = (task: ExecutionTask) => void;

export type Bell = {
  ring(task: ExecutionTask): void;
  /** Returns what ends the listening. */
  listen(request: { id: string; listener: Listener }): () => void;
};

export function createBell(): Bell {
  const listeners = new Map<string, Set<Listener>>();
  return {
    ring(task) {
      for (const listener of [...(listeners.get(task.id) ?? [])]) listener(task);
    },
    listen({ id, listener }) {
      const ofTask = listeners.get(id) ?? new Set();
      listeners.set(id, ofTask.add(listener));
      return () => {
        ofTask.delete(listener);
        if (ofTask.size === 0 && listeners.get(id) === ofTask) listeners.delete(id);
      };
    },
  };
}
