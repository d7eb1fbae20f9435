/** The AgentCore entry as a synthesized one would start it, with the echo agent, no sync budget, and settings of other places. */

import { createEchoAgent } from "../../../lambdas/execution/agents/echo.ts";
import { startAgentCore } from "../../../lambdas/execution/handlers/start-agentcore.ts";

const execution = { syncBudgetMs: 0, a2a: { url: "https://agents.example/" }, dialects: { "/vapora": "vapora" } };
await startAgentCore({ config: { execution }, createAgent: () => createEchoAgent() });
