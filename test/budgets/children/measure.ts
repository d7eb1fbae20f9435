/** Prints what warm operations, or whole tasks, count as JSON. Tasks need a process of their own, because they run in virtual time. */
import { installVirtualTime } from "../../faults/virtual-time.ts";
import { countOperations } from "../counters.ts";

async function measure(part: string | undefined): Promise<unknown> {
  if (part === "operations") {
    const { createOperations } = await import("../operations.ts");
    return countOperations(await createOperations());
  }
  installVirtualTime();
  const { countTasks } = await import("../tasks.ts");
  return countTasks();
}

process.stdout.write(JSON.stringify(await measure(process.argv[2])));
