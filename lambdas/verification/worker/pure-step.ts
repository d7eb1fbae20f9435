/** Tells failures of our own pure code on a task's data from failures of what it talks to. Only the latter may be tried again. */
import { ItemError } from "../../shared/engine/item-json.ts";

class PureStepError extends Error {
  constructor(cause: unknown) {
    super("Pure code failed on the data of a task.", { cause });
    this.name = "PureStepError";
  }
}

/** Whatever `run` throws becomes a PureStepError. */
export function pureStep<T>(run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw new PureStepError(cause);
  }
}

/**
 * A stack or a text that became too long comes from data too, wherever it is thrown. An ItemError of an act is of another record
 * than the task's own, such as the rules for who may ask: that may be put right meanwhile.
 */
export function isDataFailure(thrown: unknown): boolean {
  return thrown instanceof PureStepError || isTooLong(thrown);
}

/** V8 says with a RangeError also that memory is short (`Array buffer allocation failed`), which passes. */
function isTooLong(thrown: unknown): boolean {
  return thrown instanceof RangeError && /call stack|string length|array length/i.test(thrown.message);
}

/** The class of the error beneath, for the log; never its message. */
export function causeKindOf(thrown: unknown): string {
  const cause = thrown instanceof PureStepError || thrown instanceof ItemError ? thrown.cause : thrown;
  return cause instanceof Error ? cause.name : typeof cause;
}
