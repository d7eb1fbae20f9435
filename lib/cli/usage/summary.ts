/** A summary of finished tasks: how many there are by destination and outcome, tokens, votes on the answers, and the people with the most tasks. */
import { personKeyOf } from "@sekisho/verification/task/task.ts";
import { type UsageEntry, usageOutcomes } from "@sekisho/verification/usage/entry.ts";
import { formatTable } from "../table.ts";

type Sum = {
  tasks: number;
  input: number;
  output: number;
  total: number;
  up: number;
  down: number;
  outcomes: Map<string, number>;
};

const noDestination = "(none)";
const shownPeople = 10;

/** Adds up entry by entry, so that a long history needs no more memory than there are people. */
export function createSummary({ days, where }: { days: readonly string[]; where: string }): {
  add(entry: UsageEntry): void;
  lines(): string[];
} {
  const all = new Map<string, number>();
  const byDestination = new Map<string, Sum>();
  const byPerson = new Map<string, Sum>();
  const reasons = new Map<string, number>();

  return {
    add(entry) {
      const { destination = noDestination, outcome, reason } = entry;
      count(all, outcome);
      addTo(byDestination, destination, entry);
      addTo(byPerson, personKeyOf(entry), entry);
      if (reason !== undefined) count(reasons, `${outcome}: ${reason}`);
    },
    lines() {
      const span = days.length === 1 ? days[0] : `${days[0]} to ${days.at(-1)}`;
      if (all.size === 0) return [`${span}: there are no finished tasks ${where}.`];
      const tasks = [...all.values()].reduce((sum, one) => sum + one, 0);
      const people = byPerson.size === 1 ? "1 person" : `${byPerson.size} people`;
      const outcomes = usageOutcomes.filter((outcome) => all.has(outcome));
      const hasVotes = [...byDestination.values()].some(({ up, down }) => up + down > 0);
      const votes = hasVotes ? ["votes up", "votes down"] : [];
      const rows = sortSums(byDestination).map(([name, sum]) => [
        ...[name, sum.tasks, ...outcomes.map((outcome) => sum.outcomes.get(outcome) ?? 0)],
        ...[sum.input, sum.output, sum.total],
        ...(hasVotes ? [sum.up, sum.down] : []),
      ]);
      const why = [...reasons]
        .sort(([, a], [, b]) => b - a)
        .map(([reason, times]) => `  ${times}  ${reason}`);
      const busiest = sortSums(byPerson).slice(0, shownPeople);
      return [
        ...[`${span}: ${formatTasks(tasks)} of ${people} ${where}.`, ""],
        ...formatTable([
          ["destination", "tasks", ...outcomes, "tokens in", "tokens out", "tokens", ...votes],
          ...rows,
        ]),
        ...(why.length === 0 ? [] : ["", "Why:", ...why]),
        ...["", "Most tasks:"],
        ...formatTable(
          busiest.map(([person, sum]) => [
            `  ${person}`,
            formatTasks(sum.tasks),
            `${sum.total} tokens`,
          ]),
        ),
      ];
    },
  };
}

function addTo(
  sums: Map<string, Sum>,
  key: string,
  { outcome, tokens = {}, votes = { up: 0, down: 0 } }: UsageEntry,
): void {
  const sum = sums.get(key) ?? {
    tasks: 0,
    input: 0,
    output: 0,
    total: 0,
    up: 0,
    down: 0,
    outcomes: new Map(),
  };
  sums.set(key, sum);
  sum.tasks += 1;
  sum.input += tokens.input ?? 0;
  sum.output += tokens.output ?? 0;
  sum.total += tokens.total ?? 0;
  sum.up += votes.up;
  sum.down += votes.down;
  count(sum.outcomes, outcome);
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function sortSums(sums: Map<string, Sum>): [string, Sum][] {
  return [...sums].sort(([, a], [, b]) => b.tasks - a.tasks);
}

export function formatTasks(count: number): string {
  return count === 1 ? "1 task" : `${count} tasks`;
}
