/** The stories: what people do, and what the agent makes of it. */

type Written = {
  afterMs: number;
  text: string;
  /** It answers the message with that number. */
  inThreadOf?: number;
  /** It does not mention the bot. */
  isUnaddressed?: boolean;
};

export type Story = {
  name: string;
  /** How long the agent works. */
  agentMs: number;
  /** How long the host waits for the result itself. */
  syncBudgetMs: number;
  isAllowed: boolean;
  /** The end of a task is pushed. */
  isPushed: boolean;
  messages: readonly Written[];
};

const sync: Story = {
  name: "sync",
  agentMs: 2000,
  syncBudgetMs: 20_000,
  isAllowed: true,
  isPushed: false,
  messages: [{ afterMs: 0, text: "What is a sekisho?" }],
};

/** Two minutes: the answer is a new message, because an edit notifies nobody. */
const accepted: Story = { ...sync, name: "accepted", agentMs: 120_000, syncBudgetMs: 2000 };

function canceledAt(afterMs: number): Story["messages"] {
  return [...sync.messages, { afterMs, text: "cancel", inThreadOf: 0, isUnaddressed: true }];
}

export const stories: readonly Story[] = [
  sync,
  accepted,
  { ...sync, name: "refused", isAllowed: false },
  { ...accepted, name: "pushed", isPushed: true },
  { ...accepted, name: "canceled", isPushed: true, messages: canceledAt(40_000) },
  /** The wish to cancel comes at the moment when the agent ends. */
  { ...accepted, name: "raced", agentMs: 20_000, messages: canceledAt(19_700) },
  {
    ...accepted,
    name: "thread",
    agentMs: 15_000,
    messages: [
      { afterMs: 0, text: "What is a sekisho?" },
      { afterMs: 4000, text: "And who kept it?", inThreadOf: 0 },
      { afterMs: 5000, text: "Until when?", inThreadOf: 0 },
    ],
  },
];
