/** The stories: what people do, and what the agent makes of it. */

export type Story = {
  name: string;
  /** How long the agent works. */
  agentMs: number;
  /** How long the host waits for the result itself. */
  syncBudgetMs: number;
  isAllowed: boolean;
  /** What is written in the channel; a message with `inThreadOf` answers the one with that number. */
  messages: readonly { afterMs: number; text: string; inThreadOf?: number }[];
};

const oneMessage = [{ afterMs: 0, text: "What is a sekisho?" }];

export const stories: readonly Story[] = [
  { name: "sync", agentMs: 2000, syncBudgetMs: 20_000, isAllowed: true, messages: oneMessage },
  /** Two minutes: the answer is a new message, because an edit notifies nobody. */
  { name: "accepted", agentMs: 120_000, syncBudgetMs: 2000, isAllowed: true, messages: oneMessage },
  { name: "refused", agentMs: 2000, syncBudgetMs: 20_000, isAllowed: false, messages: oneMessage },
];
