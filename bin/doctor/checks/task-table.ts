/** Does the stage's table answer? It is asked for a task that cannot be. */
import { randomUUID } from "node:crypto";
import { createStateOfTask } from "../../aws/dead-letters/task-state.ts";
import type { StackOutputs } from "../../aws/stack-outputs.ts";
import { type Check, ok } from "../check.ts";

export function taskTableCheck({
  region,
  outputs,
  newId = randomUUID,
}: {
  region: string;
  outputs: () => Promise<StackOutputs>;
  newId?: () => string;
}): Check {
  return {
    name: "store",
    async run({ signal }) {
      const { tableName } = await outputs();
      await createStateOfTask({ tableName, region, signal })({ requestId: newId() });
      return ok(`The table ${tableName} answers.`);
    },
  };
}
