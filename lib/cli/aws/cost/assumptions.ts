/** Assumptions of the estimate that neither a template nor the rehearsal can tell. They are printed with the result. */
type Assumption = { value: number; unit: string; what: string };

export const assumptions = {
  syncBudgetSeconds: {
    value: 20,
    unit: "s",
    what: "the first call waits for the result at most (`execution.syncBudgetMs`)",
  },
  pollAfterMs: { value: 1000, unit: "ms", what: "the host asks for before the first poll" },
  stepMs: { value: 200, unit: "ms", what: "one message of the worker, without waiting for the agent" },
  pollMs: { value: 50, unit: "ms", what: "one poll by the worker" },
  ingressMs: { value: 15, unit: "ms", what: "one event at the ingress, warm" },
  urlMs: { value: 20, unit: "ms", what: "one poll at the Function URL" },
  ingressGb: { value: 0.5, unit: "GB", what: "memory of the ingress" },
  workerGb: { value: 0.5, unit: "GB", what: "memory of the worker" },
  urlGb: { value: 0.5, unit: "GB", what: "memory of the function behind the Function URL" },
  agentGb: { value: 1, unit: "GB", what: "memory of the function that runs agents" },
  messageChunks: { value: 1, unit: "chunk of 64 KB", what: "size of a queue message" },
  recordKb: { value: 2, unit: "KB", what: "size of a task's record, kept for 30 days" },
  transactionKb: {
    value: 4,
    unit: "KB",
    what: "size of what a task's end writes in one transaction, where each KB costs twice: record, thread, usage history",
  },
  indexWrites: {
    value: 8,
    unit: "writes",
    what: "to indexes, per task: its creation and its end in both zones, its thread, its entry in the usage history",
  },
  renewSeconds: { value: 10, unit: "s", what: "between two renewals of the lease of a running task" },
  tasksPerCachedRead: {
    value: 10,
    unit: "tasks",
    what: "share one read of a secret or parameter, which is cached for a minute",
  },
  kmsPerTask: { value: 0.1, unit: "requests", what: "to KMS, per task: SQS and DynamoDB cache data keys for minutes" },
  platformLogBytes: { value: 400, unit: "bytes", what: "START, END and REPORT lines of one Lambda invocation" },
  accessLogBytes: { value: 160, unit: "bytes", what: "one line of the API's access log" },
  agentcoreVcpu: { value: 0.1, unit: "vCPU", what: "that a session uses on average while its agent works" },
  agentcoreGb: { value: 0.25, unit: "GB", what: "memory of an AgentCore session" },
  sessionLifeSeconds: { value: 28_800, unit: "s", what: "an AgentCore session lives at most" },
  pollersPerQueue: { value: 5, unit: "pollers", what: "that Lambda keeps at a queue without messages" },
  longPollSeconds: { value: 20, unit: "s", what: "one receive of such a poller waits" },
  secrets: { value: 2, unit: "secrets", what: "the signing secret and the bot token" },
} satisfies Record<string, Assumption>;
