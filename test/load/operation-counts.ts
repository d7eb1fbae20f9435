/** Sums up an engine's operations by kind and state: `waiting replace`, and messages by their type: `wake send`. */
import { bump } from "./call-counts.ts";
import type { Operation } from "./counting-engine.ts";

export type OperationCounter = { counts: Record<string, number>; count: (operation: Operation) => void };

export function countOperations(): OperationCounter {
  const counts: Record<string, number> = {};
  return {
    counts,
    count({ kind, about }) {
      bump(counts, `${about} ${kind}`);
    },
  };
}
