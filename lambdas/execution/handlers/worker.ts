/** The Execution worker's entry on Lambda. */
import { readBundledConfig } from "@sekisho/config/deployed.ts";
import { createLog } from "@sekisho/runtime/log.ts";
import { createBundledAgent } from "../agents/create-agent.ts";
import { readExecutionWorkerEnvironment } from "../config/aws-environment.ts";
import { handleUncaughtErrors } from "../runs/uncaught-errors.ts";
import { createExecutionWorkerHandler } from "./worker-handler.ts";

export const handler = createExecutionWorkerHandler({
  config: readBundledConfig(__dirname),
  createAgent: createBundledAgent(__dirname),
});

// A timer of one agent may throw during a later invocation, which is the task of another person.
handleUncaughtErrors({
  log: createLog({ service: "execution", ...readExecutionWorkerEnvironment().logs }),
});
