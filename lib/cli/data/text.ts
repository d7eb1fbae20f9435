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
    [
      "answers to questions of others' tasks",
      withUnderWay(counts.answered, counts.answeredUnderWay),
    ],
    ["quota", quotas],
    ["files of messages", files],
    ["dead letters kept", deadLetters],
    ["records of the Execution zone", execution],
    [
      "rules of `sekisho allow`",
      rules.length === 0 ? 0 : `${rules.length} (${formatRuleNumbers(rules)})`,
    ],
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

/** Lists the data that no command can delete, and when it expires. */
export const remainingDataText = [
  "Data that remains:",
  "  in Slack: the messages and the bot's answers, which must be deleted there",
  "  in log lines, spans and metrics: ids and times but no texts, until their retention ends",
  "  in backups: DynamoDB's point-in-time recovery for 35 days, and your own copies of the local file",
  "  in the stage's tables: records that had already expired, which DynamoDB removes within days",
  "  for tasks younger than a day: the request id without person, channel and text, for a day, so that none runs twice",
  "  in the memory of workers: the person's language, for at most a day or until a restart",
  "  in open tasks of other people: the person's earlier messages in their threads, until the tasks end",
];
