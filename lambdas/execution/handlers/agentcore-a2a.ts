/** The Execution zone's entry on a Bedrock AgentCore runtime whose protocol is A2A. */
import { readBundledConfig } from "@sekisho/config/deployed.ts";
import { createA2aAgent } from "../a2a/a2a-agent.ts";
import { createBundledAgent } from "../agents/create-agent.ts";
import { startAgentCore } from "./start-agentcore.ts";

void startAgentCore({
  config: readBundledConfig(__dirname),
  createAgent: createBundledAgent(__dirname),
  createA2aAgent,
});
