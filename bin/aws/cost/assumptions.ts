/** What the reckoning takes for granted, since no template and no rehearsal can say it. Printed with the result. */

export type Assumption = { value: number; unit: string; why: string };

export const assumptions = {
  syncTaskSeconds: { value: 5, unit: "s", why: "a sync task's agent works" },
  asyncTaskSeconds: { value: 600, unit: "s", why: "an async task's agent works" },
  syncBudgetSeconds: {
    value: 20,
    unit: "s",
    why: "the first call waits for the result at most (execution.syncBudgetMs)",
  },
  pollAfterMs: { value: 1000, unit: "ms", why: "the Execution host asks for before the first poll" },
  stepMs: { value: 100, unit: "ms", why: "a worker's step, without waiting for the agent" },
  ingressMs: { value: 15, unit: "ms", why: "an event at the ingress, warm" },
  urlMs: { value: 20, unit: "ms", why: "a poll at the Execution zone's URL" },
  ingressGb: { value: 0.5, unit: "GB", why: "memory of the ingress" },
  workerGb: { value: 0.5, unit: "GB", why: "memory of the worker" },
  urlGb: { value: 0.5, unit: "GB", why: "memory of the Execution zone's URL function" },
  agentGb: { value: 1, unit: "GB", why: "memory of the function that runs agents" },
  messageChunks: { value: 1, unit: "chunk of 64 KB", why: "a queue message" },
  recordKb: { value: 2, unit: "KB", why: "a task's record" },
  indexWrites: {
    value: 19,
    unit: "writes",
    why: "in the indexes, per task: its creation, its changes of state, its entry in the usage history",
  },
  renewSeconds: { value: 10, unit: "s", why: "between two renewals of the lease of a running task" },
  tasksPerCachedRead: {
    value: 10,
    unit: "tasks",
    why: "that share one reading of a secret or parameter, which is kept for a minute",
  },
  kmsPerTask: { value: 0.1, unit: "requests", why: "to the key, per task: SQS and DynamoDB keep theirs for minutes" },
  logKbPerRequest: { value: 1, unit: "KB", why: "of log lines for each request of a function" },
  agentcoreVcpu: { value: 0.1, unit: "vCPU", why: "in use by a session on average, since agents wait for their model" },
  agentcoreGb: { value: 0.25, unit: "GB", why: "memory of a session" },
  agentcoreIdleSeconds: { value: 900, unit: "s", why: "that a session, one for each task, stays after its last call" },
} satisfies Record<string, Assumption>;
