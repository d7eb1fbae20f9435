/** Can a destination be used, with the credentials that it is called with? No task is run. */
import { isOwnExecution } from "../../../../lambdas/shared/config/destination-address.ts";
import type { Destination } from "../../../../lambdas/shared/config/destination-schema.ts";
import type { DestinationCheck } from "../../../../lambdas/verification/checks/check-destination.ts";
import { type CheckDependencies, checkFromHere } from "../../destinations/check.ts";
import { type Check, type CheckGroup, failedFinding, okFinding, skippedFinding, toFailedFinding } from "../check.ts";

/** For opening, and for closing. */
const graceMs = 10_000;

function destinationCheck({
  name,
  destination,
  isStarted,
  checkCommand,
  ...dependencies
}: CheckDependencies & {
  name: string;
  destination: Destination;
  /** Whether a zone of this machine is at work, so that its Execution zone ought to answer. */
  isStarted: () => Promise<boolean>;
  /** The command that asks this destination alone. */
  checkCommand: string;
}): Check {
  return {
    name,
    // It is called twice.
    timeoutMs: 2 * dependencies.config.limits.callTimeoutMs + graceMs,
    async run({ signal }) {
      if (isOwnExecution(destination) && !(await isStarted())) {
        return skippedFinding("The Execution zone of this machine is not started: npm start starts both.");
      }
      const { health, words, firstMs } = await checkFromHere({ ...dependencies, name, destination, signal });
      if (health === "healthy") return okFinding(`${words}${firstMs === undefined ? "" : ` (${firstMs} ms)`}`);
      return toFailedFinding(words, `Look at it and at its address, then ask it again: ${checkCommand}`);
    },
  };
}

// Can the deployed worker use a destination? No task is run.

export function stageDestinationCheck({
  name,
  isDeployed,
  isAnswering,
  ask,
  stageName,
  timeoutMs,
}: {
  name: string;
  isDeployed: boolean;
  /** Whether the worker answers at all. Its own check says what to do where it does not. */
  isAnswering: () => Promise<boolean>;
  /** Is asked afterwards: two invocations at once may be more than a new account allows. */
  ask: () => Promise<DestinationCheck[]>;
  stageName: string;
  timeoutMs: number;
}): Check {
  return {
    name,
    timeoutMs,
    async run() {
      if (!isDeployed) return skippedFinding("It is not deployed.");
      if (!(await isAnswering())) return skippedFinding("The deployed worker does not answer.");
      const checked = await ask();
      const found = checked.find((each) => each.name === name);
      if (found === undefined) {
        const remedy = `Is a deploy under way? npx sekisho destinations check ${name} --stage ${stageName}`;
        return failedFinding("The deployed worker does not know it.", remedy);
      }
      const { health, words, firstMs } = found;
      if (health === "healthy") return okFinding(`${words}${firstMs === undefined ? "" : ` (${firstMs} ms)`}`);
      const again = `npx sekisho destinations check ${name} --stage ${stageName}`;
      return toFailedFinding(words, `Look at it and at its address, then ask it again: ${again}`);
    },
  };
}

// Every destination of the configuration, each a check.

export function destinationGroup({
  isStarted,
  ...dependencies
}: CheckDependencies & { isStarted: () => Promise<boolean> }): CheckGroup {
  const checks = Object.entries(dependencies.config.destinations).map(([name, destination]) =>
    destinationCheck({
      ...dependencies,
      name,
      destination,
      isStarted,
      checkCommand: `npx sekisho destinations check ${name}`,
    }),
  );
  return { group: "Destinations", checks };
}
