/** The AgentCore entry as a synthesized one would start it, with the echo agent, no sync budget, and settings of other places. */
import { startAgentCore } from "../../../lambdas/execution/agentcore.ts";
import { createEchoAgent } from "../../../lambdas/execution/agents/echo.ts";

const execution = { syncBudgetMs: 0, a2a: { url: "https://agents.example/" }, dialects: { "/vapora": "vapora" } };
await startAgentCore({ config: { execution }, createAgent: () => createEchoAgent() });
