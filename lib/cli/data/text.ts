/** Texts of the commands about one person's data. */
import { formatTable } from "../table.ts";
import type { PersonRecords } from "./find-person.ts";

export type Counts = ReturnType<typeof countRecords> & {
  /** Undefined if the zone keeps none. */
  files: number | undefined;
  deadLetters: number | undefined;
  /** A text says why they cannot be counted. */
  execution: number | string;
  /** The numbers of the rules. */
  rules: number[];
  configuration: string[];
};

export function countRecords({ tasks, history, answered, quota }: PersonRecords) {
  return {
    tasks: tasks.length,
    underWay: tasks.filter(({ isUnderWay }) => isUnderWay).length,
    history: history.length,
    answered: answered.length,
    /** The answers in tasks that are under way. */
    answeredUnderWay: answered.filter(({ isUnderWay }) => isUnderWay).length,
    quotas: quota === undefined ? 0 : 1,
  };
}

export function formatCounts(counts: Counts): string[] {
  const { history, quotas, files, deadLetters, execution, rules, configuration } = counts;
  const rows: [string, string | number | undefined][] = [
    ["tasks", withUnderWay(counts.tasks, counts.underWay)],
    ["usage history", history],
    ["answers to questions of others' tasks", withUnderWay(counts.answered, counts.answeredUnderWay)],
    ["quota", quotas],
    ["files of messages", files],
    ["dead letters kept", deadLetters],
    ["records of the Execution zone", execution],
    ["rules of `sekisho allow`", rules.length === 0 ? 0 : `${rules.length} (${formatRuleNumbers(rules)})`],
    ["named in the configuration", configuration.length === 0 ? 0 : configuration.join(", ")],
  ];
  const known = rows.filter(([, count]) => count !== undefined);
  return formatTable(known.map(([what, count]) => [`  ${what}`, String(count)]));
}

export function formatRuleNumbers(numbers: readonly number[]): string {
  return numbers.map((number) => `#${number}`).join(", ");
}

/** A task is under way until two minutes after its answer. */
function withUnderWay(all: number, underWay: number): string | number {
  return underWay === 0 ? all : `${all}, of which under way or just ended: ${underWay}`;
}

/** Data that no command can delete, and when it goes. */
export const remainingDataText = [
  "What remains:",
  "  in Slack, the messages and the bot's answers: they are Slack's, and are deleted there",
  "  in log lines, spans and metrics: ids and times, no texts, until their retention ends",
  "  in backups: DynamoDB's point-in-time recovery, for 35 days; copies of the local file that you made",
  "  in the stage's tables, records that had expired before: DynamoDB removes them within days",
  "  of tasks younger than a day: that their message was taken, without person, place and text, for a day",
  "  in the memory of workers: the person's language, for a day at the most, or until they are restarted",
  "  in open tasks of others: what the person said earlier in their thread, until they end",
];
