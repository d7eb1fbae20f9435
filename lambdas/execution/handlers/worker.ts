/** The Execution worker's entry on Lambda. */
import { readBundledConfig } from "../../shared/config/aws-environment.ts";
import { createBundledAgent } from "../agents/create-agent.ts";
import { createExecutionWorkerHandler } from "./worker-handler.ts";

export const handler = createExecutionWorkerHandler({
  config: readBundledConfig(__dirname),
  createAgent: createBundledAgent(__dirname),
});
