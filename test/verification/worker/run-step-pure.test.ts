import { expect, it } from "@jest/globals";
import { ItemError } from "../../../lambdas/shared/engine/records.ts";
import { isDataFailure, pureStep } from "../../../lambdas/verification/worker/run-step.ts";

function thrownBy(run: () => unknown): unknown {
  try {
    return run();
  } catch (thrown) {
    return thrown;
  }
}

it("what is too long for a stack or a text is the data's fault, and memory that is short is not", () => {
  const recurse = (): unknown => [recurse()];
  expect(isDataFailure(thrownBy(recurse))).toBe(true);
  expect(isDataFailure(thrownBy(() => "x".repeat(2 ** 30)))).toBe(true);
  const defect = () => {
    throw new TypeError();
  };
  expect(isDataFailure(thrownBy(() => pureStep(defect)))).toBe(true);
  // An act reads other records than the task's own.
  expect(isDataFailure(new ItemError({ cause: new TypeError() }))).toBe(false);
  // As V8 says it, of a realm that is not the test runner's.
  const short = new RangeError("Array buffer allocation failed");
  expect(isDataFailure(short)).toBe(false);
});
