/** The configuration of both zones in a load run, as it would stand in the file; see the comments for what is not a default. */
export const configuration = {
  destinations: { local: { transport: "https" } },
  routes: [{ destination: "local" }],
  // `execute_task` holds one of the worker's slots for so long: with a larger budget the slots, not the zones, are measured.
  execution: {
    agent: "./agent.ts",
    syncBudgetMs: 50,
    // One caller has as many tasks at work here as --at-once says.
    limits: { runsPerCaller: 100_000, openCallsPerCaller: 100_000 },
  },
};
