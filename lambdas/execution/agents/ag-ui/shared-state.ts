/** Follows the state that the agent shares, as long as it is small enough to be sent again. */
import { isJsonWithin } from "@sekisho/contracts/json-size.ts";
import { isNestedTooDeep } from "@sekisho/runtime/untrusted-input.ts";
import { applyPatch } from "./json-patch.ts";

/** The most that a question or a conversation can store. */
const maxStateBytes = 64 * 1024;

export type SharedState = {
  replace(state: unknown): void;
  /** A patch that does not fit changes nothing. */
  patch(operations: readonly unknown[]): void;
  /** Checks what was not checked yet. */
  settle(): void;
};

/** `holder.state` is undefined once it was too large, until the agent sends another one. */
export function createSharedState(holder: { state: unknown }): SharedState {
  /** The most by which the state can have grown since it was checked. A check of a large state takes much longer than a patch. */
  let uncheckedBytes = 0;

  function replace(state: unknown): void {
    uncheckedBytes = 0;
    const isKept =
      !isNestedTooDeep(state) && isJsonWithin({ value: state, maxBytes: maxStateBytes });
    holder.state = isKept ? state : undefined;
  }

  return {
    replace,
    patch(operations) {
      if (holder.state === undefined) return;
      const state = applyPatch(holder.state, operations);
      if (state === undefined) return;
      uncheckedBytes += growthOf(operations);
      if (uncheckedBytes > maxStateBytes) replace(state);
      else holder.state = state;
    },
    settle() {
      if (uncheckedBytes > 0) replace(holder.state);
    },
  };
}

/** A copy adds more than its operation has. */
function growthOf(operations: readonly unknown[]): number {
  const isUnknown =
    isNestedTooDeep(operations) ||
    operations.some((operation) => (Object(operation) as { op?: unknown }).op === "copy");
  return isUnknown ? Number.POSITIVE_INFINITY : JSON.stringify(operations).length;
}
