/** The times of tasks and their runs, alike for every process that shares a store, unless the configuration says otherwise. */
export const runDefaults = {
  syncBudgetMs: 20_000,
  leaseMs: 20_000,
  lostAfterMs: 30_000,
  retentionMs: 24 * 3600_000,
  questionMs: 24 * 3600_000,
  progressMs: 1000,
  storeTimeoutMs: 5000,
  pollAfterMs: 1000,
} as const;
