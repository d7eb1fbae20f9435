/** How long a session of an AgentCore runtime lives. */

/** The platform's limit for runtimes on microVMs. */
export const maxSessionSeconds = 28_800;

/** Balances warm follow-ups against cost; docs/explanation/costs.md has the figures. */
export const defaultIdleSeconds = 120;
