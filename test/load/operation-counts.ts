/** Sums up an engine's operations by kind and state: `waiting replace`, and messages by their type: `wake send`. */
import type { Operation } from "./counting-engine.ts";

export type OperationCounter = { counts: Record<string, number>; count: (operation: Operation) => void };

export function countOperations(): OperationCounter {
  const counts: Record<string, number> = {};
  return {
    counts,
    count({ kind, about }) {
      const name = `${about} ${kind}`;
      counts[name] = (counts[name] ?? 0) + 1;
    },
  };
}
