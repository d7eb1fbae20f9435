/** What the usage history comes to: tasks by destination and outcome, tokens, who asked most. */
import { formatPersonKey, type HistoryEntry, usageOutcomes } from "../../../lambdas/verification/usage/entry.ts";

type Sum = { tasks: number; input: number; output: number; total: number };

type UsageSummary = {
  add(entry: HistoryEntry): void;
  lines(): string[];
};

const noDestination = "(none)";
const shownPeople = 10;

/** Adds up entry by entry, so that a history of any length needs no more memory than there are people. */
export function createSummary({ days, where }: { days: readonly string[]; where: string }): UsageSummary {
  const all = nothing();
  const byDestination = new Map<string, Sum & { outcomes: Map<string, number> }>();
  const byPerson = new Map<string, Sum>();
  const reasons = new Map<string, number>();

  return {
    add(entry) {
      const name = entry.destination ?? noDestination;
      const destination = known(byDestination, name, () => ({ ...nothing(), outcomes: new Map() }));
      for (const sum of [all, destination, known(byPerson, formatPersonKey(entry), nothing)]) count(sum, entry);
      destination.outcomes.set(entry.outcome, (destination.outcomes.get(entry.outcome) ?? 0) + 1);
      if (entry.reason !== undefined) {
        const reason = `${entry.outcome}: ${entry.reason}`;
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
      }
    },
    lines() {
      const span = days.length === 1 ? days[0] : `${days[0]} to ${days.at(-1)}`;
      if (all.tasks === 0) return [`${span}: no task has ended ${where}, or none is kept.`];
      const outcomes = usageOutcomes.filter((outcome) =>
        [...byDestination.values()].some((sum) => sum.outcomes.has(outcome)),
      );
      const head = ["destination", "tasks", ...outcomes, "tokens in", "tokens out", "tokens"];
      const rows = [...byDestination]
        .sort(([, a], [, b]) => b.tasks - a.tasks)
        .map(([name, sum]) => [
          name,
          sum.tasks,
          ...outcomes.map((outcome) => sum.outcomes.get(outcome) ?? 0),
          ...[sum.input, sum.output, sum.total],
        ]);
      const busiest = [...byPerson].sort(([, a], [, b]) => b.tasks - a.tasks).slice(0, shownPeople);
      return [
        `${span}: ${counted(all.tasks, "task")} of ${byPerson.size === 1 ? "1 person" : `${byPerson.size} people`} ${where}.`,
        "",
        ...aligned([head, ...rows]),
        ...(reasons.size === 0
          ? []
          : [
              "",
              "Why:",
              ...[...reasons].sort(([, a], [, b]) => b - a).map(([reason, times]) => `  ${times}  ${reason}`),
            ]),
        "",
        "Who asked most:",
        ...aligned(
          busiest.map(([person, { tasks, total }]) => [`  ${person}`, counted(tasks, "task"), `${total} tokens`]),
        ),
      ];
    },
  };
}

function nothing(): Sum {
  return { tasks: 0, input: 0, output: 0, total: 0 };
}

function count(sum: Sum, { tokens = {} }: HistoryEntry): void {
  sum.tasks += 1;
  sum.input += tokens.input ?? 0;
  sum.output += tokens.output ?? 0;
  sum.total += tokens.total ?? 0;
}

function known<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

function counted(many: number, what: string): string {
  return `${many} ${what}${many === 1 ? "" : "s"}`;
}

/** The first column to the left, the others to the right. */
function aligned(rows: readonly (readonly (string | number)[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, String(cell).length);
  return rows.map((row) =>
    row
      .map((cell, at) => (at === 0 ? String(cell).padEnd(widths[at] ?? 0) : String(cell).padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
