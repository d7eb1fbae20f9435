/** The AgentCore entry as a synthesized one would start it, with the echo agent and no sync budget. */
import { startAgentCore } from "../../../lambdas/execution/agentcore.ts";
import { createEchoAgent } from "../../../lambdas/execution/agents/echo.ts";

await startAgentCore({ config: { execution: { syncBudgetMs: 0 } }, createAgent: () => createEchoAgent() });
