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
    `Not in it: ${notInIt.join("; ")}.`,
  ].join("\n\n");
}

const notInIt = [
  "the model's tokens, data transfer, Slack's redeliveries",
  "the push of an accepted task's end (one message)",
  "a file of a message (it is put into the bucket and read there once, and lies there for two days at most); a task without files makes no call for them",
  "a question (the step that asks, those that its answer brings, and a message in each quarter of an hour until it would have expired)",
  "quotas (two reads and two writes of a task for each that is configured)",
  "who may ask by a rule of `sekisho allow` (one read in 15 s of a worker at work, at most)",
  "what is said in the bot's channels without meaning it (one request to the entry and the ingress each; where it is a reply in a thread also two messages and two looks of the worker)",
  "what a stage costs without a task (the key, the secrets, of which each workspace that installs the app has one more, alarms, the dashboard, the idle pollers of the queues)",
];

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
