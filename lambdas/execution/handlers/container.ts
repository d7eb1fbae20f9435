/** The Execution zone's entry in any container. */
import { readBundledConfig } from "@sekisho/config/deployed.ts";
import { createBundledAgent } from "../agents/create-agent.ts";
import { runContainer } from "./run-container.ts";

void runContainer({
  readConfig: () => readBundledConfig(__dirname),
  createAgent: createBundledAgent(__dirname),
});
