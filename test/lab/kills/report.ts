/** The report of a run: figures, and lines for people. */
import type { Zone } from "./plan.ts";

export type Report = {
  tasks: number;
  /** Further messages that ask for a task to be canceled. */
  cancels: number;
  kills: Record<Zone, number>;
  /** Deliveries of events: first ones, redeliveries, and second events of the same message. */
  deliveries: number;
  /** Messages that no delivery brought, so that nothing was promised. */
  unheard: number;
  /** The number of messages by their outcome. */
  outcomes: Record<string, number>;
  starts: number;
  violations: string[];
  /** The log lines of the message that the first violation names. */
  log: string[];
  seconds: number;
};

const mostLogLines = 60;

export function reportText({ seed, report }: { seed: number; report: Report }): string {
  const { tasks, cancels, kills, deliveries, unheard, outcomes, starts, violations, log, seconds } =
    report;
  const end = Object.entries(outcomes).map(([outcome, count]) => `${outcome} ${count}`);
  const figures = [
    `seed ${seed}, ${seconds.toFixed(0)} s`,
    `tasks: ${tasks}, requests to cancel: ${cancels}, deliveries of events: ${deliveries}`,
    `kills: ${kills.verification} of the Verification zone, ${kills.execution} of the Execution zone`,
    `outcomes: ${end.join(", ")}; never delivered: ${unheard}`,
    `starts of the agent: ${starts}`,
    `violations: ${violations.length}`,
  ];
  return [...log.slice(-mostLogLines), ...violations, ...figures].join("\n");
}
