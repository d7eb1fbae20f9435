/** The Execution zone's entry on Bedrock AgentCore. */
import { readBundledConfig } from "@sekisho/config/deployed.ts";
import { createBundledAgent } from "../agents/create-agent.ts";
import { startAgentCore } from "./start-agentcore.ts";

void startAgentCore({
  config: readBundledConfig(__dirname),
  createAgent: createBundledAgent(__dirname),
});
