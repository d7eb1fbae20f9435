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
  /** What the host advises between polls. */
  pollAfterMs: number;
  isAllowed: boolean;
  /** The peer knows nothing of deduplication, and is declared so: what may have arrived is not sent again. */
  isForeign: boolean;
  /** The end of a task is pushed. */
  isPushed: boolean;
  /** The route has a second destination, an Execution zone of its own; and what becomes of the first one. */
  first?: "away" | "there";
  messages: readonly Written[];
};

const sync: Story = {
  name: "sync",
  agentMs: 300,
  syncBudgetMs: 20_000,
  pollAfterMs: 1000,
  isAllowed: true,
  isForeign: false,
  isPushed: false,
  messages: [{ afterMs: 0, text: "What is a sekisho?" }],
};

/** More than a minute: the answer is a new message, because an edit notifies nobody. Few polls keep all pairs of faults searchable. */
const accepted: Story = { ...sync, name: "accepted", agentMs: 61_000, syncBudgetMs: 300, pollAfterMs: 30_000 };

function canceledAt(afterMs: number): Story["messages"] {
  return [...sync.messages, { afterMs, text: "cancel", inThreadOf: 0, isUnaddressed: true }];
}

export const stories: readonly Story[] = [
  sync,
  accepted,
  { ...sync, name: "refused", isAllowed: false },
  { ...sync, name: "foreign", isForeign: true },
  /** Nobody is there to take it: it goes to the second. */
  { ...sync, name: "moved", first: "away" },
  /** Whatever may have arrived at the first is never sent to the second. */
  { ...sync, name: "spared", first: "there" },
  /** Two minutes and many polls. */
  { ...accepted, name: "long", agentMs: 120_000, pollAfterMs: 1000 },
  { ...accepted, name: "pushed", agentMs: 120_000, isPushed: true },
  { ...accepted, name: "canceled", agentMs: 120_000, isPushed: true, messages: canceledAt(40_000) },
  /** The wish to cancel comes at the moment when the agent ends. */
  { ...accepted, name: "raced", agentMs: 20_000, pollAfterMs: 5000, messages: canceledAt(19_700) },
  {
    ...accepted,
    name: "thread",
    agentMs: 15_000,
    pollAfterMs: 5000,
    messages: [
      { afterMs: 0, text: "What is a sekisho?" },
      { afterMs: 4000, text: "And who kept it?", inThreadOf: 0 },
      { afterMs: 5000, text: "Until when?", inThreadOf: 0 },
    ],
  },
];
