/** Is the stage deployed, and as the file has it? */

import type { StackOutputs } from "../../aws/stack-outputs.ts";
import type { InForce } from "../../destinations/in-force.ts";
import { type Check, ok, warning } from "../check.ts";

/** `outputs` rejects with what to do where there is no stack; of `inForce`, another check tells. */
export function stack({
  stageName,
  outputs,
  inForce,
}: {
  stageName: string;
  outputs: () => Promise<StackOutputs>;
  inForce: () => Promise<InForce>;
}): Check {
  return {
    name: "stack",
    async run() {
      await outputs();
      const known = await inForce().catch(() => undefined);
      if (known === undefined) return ok("It is deployed.");
      const { notDeployed } = known;
      if (notDeployed.length === 0) return ok("It is deployed, with the destinations of the file.");
      const what = `Not deployed as the file has them: ${notDeployed.join(", ")}.`;
      return warning(what, `npx cdk deploy --all -c stage=${stageName}, if the file is what you want.`);
    },
  };
}
