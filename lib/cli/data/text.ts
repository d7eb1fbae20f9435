/** What the commands say of one person's data. */
import type { PersonRecords } from "./find-person.ts";

export type Counts = {
  tasks: number;
  underWay: number;
  history: number;
  answered: number;
  /** Of these, how many are answers in tasks that are under way. */
  answeredUnderWay: number;
  quotas: number;
  /** Undefined where it is not kept at that place. */
  files: number | undefined;
  deadLetters: number | undefined;
  /** A text where it cannot be found out, with why. */
  execution: number | string;
  /** Numbers of the rules that `sekisho allow` keeps. */
  rules: number[];
  configuration: string[];
};

export function countRecords({ tasks, history, answered, quota }: PersonRecords) {
  return {
    tasks: tasks.length,
    underWay: tasks.filter(({ isUnderWay }) => isUnderWay).length,
    history: history.length,
    answered: answered.length,
    answeredUnderWay: answered.filter(({ isUnderWay }) => isUnderWay).length,
    quotas: quota === undefined ? 0 : 1,
  };
}

export function formatCounts(counts: Counts): string[] {
  const { history, quotas, files, deadLetters, execution, rules, configuration } = counts;
  const lines: [string, string | number | undefined][] = [
    ["tasks", withUnderWay(counts.tasks, counts.underWay)],
    ["usage history", history],
    ["answers to questions of others' tasks", withUnderWay(counts.answered, counts.answeredUnderWay)],
    ["quota", quotas],
    ["files of messages", files],
    ["dead letters kept", deadLetters],
    ["records of the Execution zone", execution],
    ["rules of `sekisho allow`", rules.length === 0 ? 0 : `${rules.length} (${rules.map((n) => `#${n}`).join(", ")})`],
    ["named in the configuration", configuration.length === 0 ? 0 : configuration.join(", ")],
  ];
  return lines.flatMap(([what, many]) => (many === undefined ? [] : [`  ${what.padEnd(38)}${many}`]));
}

/** Undefined where the same user is known under no other workspace. */
export function otherTeamsLine({ otherTeams }: PersonRecords): string | undefined {
  if (otherTeams.length === 0) return undefined;
  return `Tasks of that user are kept under another workspace: ${otherTeams.map((team) => `--team ${team}`).join(", ")}.`;
}

/** For two minutes after its answer a task has still something to do. */
function withUnderWay(all: number, underWay: number): string | number {
  return underWay === 0 ? all : `${all}, of which under way or just ended: ${underWay}`;
}

/** What no command of ours can take away, and when it goes. */
export const remainingDataText = [
  "What remains:",
  "  in Slack, the messages themselves and our answers: they are Slack's, and are deleted there",
  "  in log lines, spans and metrics: ids and times, no texts, until their retention ends",
  "  in backups: DynamoDB's point-in-time recovery, for 35 days; copies of the local file that you made",
  "  in the stage's tables what had expired before: DynamoDB takes it away within days",
  "  of tasks younger than a day: that their message was taken, without person, place and text, for a day",
  "  in the memory of workers: the language the person reads in, for a day at the most, or until they are restarted",
  "  in tasks of others that are under way: what the person said earlier in their thread, until they end",
];
