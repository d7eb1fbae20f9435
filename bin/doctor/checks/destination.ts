/** Can a destination be used, with the credentials that it is called with? No task is run. */

import { isOwnExecution } from "../../../lambdas/shared/config/destination-address.ts";
import type { Destination } from "../../../lambdas/shared/config/destination-schema.ts";
import { type CheckSurroundings, checkDestination } from "../../destinations/check.ts";
import { type Check, failedBy, ok, skipped } from "../check.ts";

/** For opening, and for closing. */
const graceMs = 10_000;

export function destinationCheck({
  name,
  destination,
  isStarted,
  checkWords,
  ...surroundings
}: CheckSurroundings & {
  name: string;
  destination: Destination;
  /** Whether the Execution zone of this configuration ought to answer: elsewhere always, here where a zone is at work. */
  isStarted: () => Promise<boolean>;
  /** The command that asks this destination alone. */
  checkWords: string;
}): Check {
  return {
    name,
    // It is called twice.
    timeoutMs: 2 * surroundings.config.limits.callTimeoutMs + graceMs,
    async run({ signal }) {
      if (isOwnExecution(destination) && !(await isStarted())) {
        return skipped("The Execution zone of this machine is not started: npm start starts both.");
      }
      const { health, words, firstMs } = await checkDestination({ ...surroundings, name, destination, signal });
      if (health === "healthy") return ok(`${words}${firstMs === undefined ? "" : ` (${firstMs} ms)`}`);
      return failedBy(words, `Look at it and at its address, then ask it again: ${checkWords}`);
    },
  };
}
