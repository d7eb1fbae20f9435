/** What came of a run, as figures and as lines for people. */

export type Report = {
  tasks: number;
  kills: number;
  /** Posts of events: first ones, redeliveries, and second events of the same message. */
  deliveries: number;
  /** Messages whose thread shows the agent's words; the others show ours. */
  answers: number;
  starts: number;
  violations: string[];
  /** The log lines of the first message that is named there. */
  log: string[];
  seconds: number;
};

const mostLogLines = 60;

export function reportText({ seed, report }: { seed: number; report: Report }): string {
  const { tasks, kills, deliveries, answers, starts, violations, log, seconds } = report;
  const figures = [
    `${tasks} tasks, ${kills} kills, ${deliveries} deliveries of events, ${seconds.toFixed(0)} s (seed ${seed})`,
    `answered by the agent: ${answers}; told what became of it: ${tasks - answers}; starts of the agent: ${starts}`,
    `violations: ${violations.length}`,
  ];
  return [...log.slice(-mostLogLines), ...violations, ...figures].join("\n");
}
