/** The AgentCore entry as a synthesized one would start it: with the echo agent or the agent file of `AGENT_FILE`, no sync budget, and settings of other places. */

import { parseExecutionSections } from "@sekisho/config/execution-schema.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import { startAgentCore } from "@sekisho/execution/handlers/start-agentcore.ts";

const execution = {
  syncBudgetMs: 0,
  a2a: { url: "https://agents.example/" },
  dialects: { "/vapora": "vapora" },
};
const { AGENT_FILE: file } = process.env;
const { agent = createEchoAgent() } = file === undefined ? {} : await import(file);
await startAgentCore({ config: parseExecutionSections({ execution }), createAgent: () => agent });
