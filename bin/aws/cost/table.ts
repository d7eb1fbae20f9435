/** The reckoning as Markdown, which is readable on a terminal too. */
import { services } from "./bill.ts";
import type { Reckoning } from "./reckon.ts";

export function costTable(reckoning: Reckoning): string {
  const { tasks, columns, polls, assumptions, priceList } = reckoning;
  const heads = columns.map(({ kind, task, taskMs }) => `${kind}, ${task} (${duration(taskMs)})`);
  const actions = [...new Set(columns.flatMap(({ calls }) => Object.keys(calls)))].sort();
  const calls = actions.map((name) => [name, ...columns.map(({ calls: of }) => count(of[name] ?? 0))]);
  const dollars = services.map((name) => [name, ...columns.map(({ dollars: of }) => usd(of[name]))]);
  const totals = ["**Total**", ...columns.map(({ totalDollars }) => `**${usd(totalDollars)}**`)];
  return [
    "AWS calls per task:",
    table(["call", ...heads], [...calls, ["polls among them", ...columns.map((column) => count(column.polls))]]),
    `Dollars for ${tasks.toLocaleString("en-US")} tasks:`,
    table(["service", ...heads], [...dollars, totals]),
    "Polls by how long a task takes: at first as its logarithm grows, then at the schedule's longest delay.",
    table(
      ["task takes", "polls"],
      polls.map((row) => [duration(row.taskMs), count(row.polls)]),
    ),
    "Assumed, since neither a template nor the rehearsal can say it:",
    table(
      ["assumed", "value"],
      Object.values(assumptions).map(({ value, unit, why }) => [why, `${value} ${unit}`]),
    ),
    `Prices of ${priceList.region}, ${priceList.asOf}, without free tiers and discounts:`,
    table(
      ["price", "of", "published at"],
      Object.values(priceList.prices).map(({ usd: price, per, unit, source }) => [
        `$${price}${per === 1 ? "" : ` per ${per.toLocaleString("en-US")}`}`,
        unit,
        source,
      ]),
    ),
    "Not in it: the model's tokens, data transfer, Slack's redeliveries, the push of an accepted task's end (one message), what is said in the bot's channels without meaning it (one request to the entry and the ingress each), and what a stage costs without a task (the key, the secrets, alarms, the dashboard, the idle pollers of the queues).",
  ].join("\n\n");
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  const ruler = head.map((_, index) => (index === 0 ? "---" : "---:"));
  return [line(head), line(ruler), ...rows.map(line)].join("\n");
}

function duration(ms: number): string {
  if (ms % 3600_000 === 0) return `${ms / 3600_000} h`;
  return ms % 60_000 === 0 ? `${ms / 60_000} min` : `${ms / 1000} s`;
}

function count(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function usd(value: number): string {
  return value < 0.005 && value > 0 ? "<0.01" : value.toFixed(2);
}
