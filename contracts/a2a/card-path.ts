/** Where an agent's host has its card (A2A 1.0, section 8.2). */
export const agentCardPath = "/.well-known/agent-card.json";
