/** The AgentCore entry as a synthesized one would start it: with the echo agent or the agent file of `AGENT_FILE`, no sync budget, and settings of other places. With `PROTOCOL=A2A` it serves A2A. */

import { parseExecutionSections } from "@sekisho/config/execution-schema.ts";
import { createA2aAgent } from "@sekisho/execution/a2a/a2a-agent.ts";
import { createEchoAgent } from "@sekisho/execution/agents/echo.ts";
import { startAgentCore } from "@sekisho/execution/handlers/start-agentcore.ts";

const { AGENT_FILE: file, PROTOCOL: protocol } = process.env;
const isA2a = protocol === "A2A";
const execution = {
  syncBudgetMs: 0,
  a2a: isA2a ? {} : { url: "https://agents.example/" },
  authenticator: { type: "bearer", tokens: [{ env: "TOKEN_OF_OTHER_PLACES" }] },
  dialects: { "/vapora": "vapora" },
};
const { agent = createEchoAgent() } = file === undefined ? {} : await import(file);
await startAgentCore({
  config: parseExecutionSections({ execution }),
  createAgent: () => agent,
  ...(isA2a && { createA2aAgent }),
});
