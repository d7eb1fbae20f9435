/** Formats the estimate as Markdown, which reads well on a terminal too. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UsageError } from "../../command.ts";
import { type Estimate, formatSeconds, installAlarmMetrics, stageItems } from "./estimate.ts";
import { type MeasuredKind, services } from "./task-cost.ts";

export function costTable({ headline, scenario, polls, months, lengths, assumptions, priceList }: Estimate): string {
  const { tasks, taskSeconds, idleSeconds } = scenario;
  const kinds = months.map(({ kind }) => kind);
  const taskRows = services.map((name) => [name, ...months.map(({ taskDollars }) => dollars(taskDollars[name]))]);
  const stageRows = stageItems.map((name) => [name, ...months.map(({ stageDollars }) => dollars(stageDollars[name]))]);
  const total = ["**Total**", ...months.map(({ totalDollars }) => `**${dollars(totalDollars)}**`)];
  const actions = [...new Set(months.flatMap(({ callsPerTask }) => Object.keys(callsPerTask)))].sort();
  const callRows = actions.map((name) => [
    `\`${name}\``,
    ...months.map(({ callsPerTask }) => count(callsPerTask[name] ?? 0)),
  ]);
  const allKinds: MeasuredKind[] = ["agentcore", "lambda", "external"];
  return [
    headline,
    `Dollars a month for ${tasks.toLocaleString("en-US")} tasks of ${formatSeconds(taskSeconds)}, each in a thread of its own. From the custom metrics on, the rows are the same without any task:`,
    table(["service", ...kinds], [...taskRows, ...stageRows, total]),
    `Dollars for one task by its length, with an AgentCore session that idles for ${idleSeconds} s afterwards. The polls are those of ${scenario.kind}. A dash: the task is too long for this kind.`,
    table(
      ["task takes", "polls", ...allKinds],
      lengths.map((row) => [
        formatSeconds(row.taskSeconds),
        count(row.polls),
        ...allKinds.map((kind) => (row.dollars[kind] === undefined ? "–" : row.dollars[kind].toFixed(6))),
      ]),
    ),
    `AWS calls and log lines of one task of ${formatSeconds(taskSeconds)}, which is polled ${count(polls)} times:`,
    table(
      ["call", ...kinds],
      [...callRows, ["bytes of log lines", ...months.map(({ logBytesPerTask }) => count(logBytesPerTask))]],
    ),
    "Assumed, because neither a template nor the rehearsal can say it:",
    table(
      ["value", "what"],
      Object.values(assumptions).map(({ value, unit, what }) => [`${value} ${unit}`, what]),
      "---",
    ),
    `Prices of ${priceList.region}, ${priceList.asOf}, without free tiers and discounts:`,
    table(
      ["price", "of", "published at"],
      Object.values(priceList.prices).map(({ usd, per, unit, source }) => [
        `$${usd}${per === 1 ? "" : ` per ${per.toLocaleString("en-US")}`}`,
        unit,
        source,
      ]),
      "---",
    ),
    `Not included: ${notIncluded.join("; ")}.`,
  ].join("\n\n");
}

const notIncluded = [
  "the model's tokens, which can cost more than all of this",
  "data transfer; a NAT gateway, because no function is in a VPC",
  "log storage ($0.03 per GB and month, compressed) and log queries",
  "spans, files, questions, quotas, and retries after failures",
  "the pushes of an accepted task (a message for its end, and a message and a poll for every ten seconds in which it reports progress)",
  "messages in the bot's channels that do not ask it anything (one API request and one invocation each)",
  "metrics that appear only when something fails, and a fourth dashboard of the account",
  "a secret for each workspace that installs the app ($0.40 a month)",
  `${installAlarmMetrics} more alarms where people can install the app`,
];

/** Every column but the first is aligned as numbers, unless `ruler` says otherwise. */
function table(head: string[], rows: string[][], ruler = "---:"): string {
  const rulers = ["---", ...head.slice(1).map(() => ruler)];
  return [head, rulers, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function count(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function dollars(value: number): string {
  return value < 0.005 && value > 0 ? "<0.01" : value.toFixed(2);
}

/** The part of docs/explanation/costs.md between these markers is generated. */
const begin = "<!-- cost: written by sekisho cost --markdown -->";
const end = "<!-- cost: end -->";

/** Returns the file's path. */
export function writeSection({ directory, table }: { directory: string; table: string }): string {
  const path = join(directory, "docs", "explanation", "costs.md");
  writeFileSync(path, withSection({ text: readText(path), table }));
  return path;
}

export function withSection({ text, table }: { text: string; table: string }): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new UsageError(`docs/explanation/costs.md lacks the markers ${begin} and ${end}.`);
  return `${text.slice(0, from)}${begin}\n\n${table}\n\n${text.slice(to)}`;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new UsageError("There is no docs/explanation/costs.md here: --markdown is for the project's own folder.");
  }
}
